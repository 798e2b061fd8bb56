# frozen_string_literal: true

require_relative "../codec"
require_relative "../file_lock"
require_relative "../clock"
require_relative "../free_space"

module Tiercel
  class Account
    # Where an account is kept: a file that all processes of the machine share, or the memory of this one. The file's
    # first page is mapped, so what is counted there outlives the process that counts. The rest is read and written
    # under the file's lock.
    #
    # @private
    class Book
      # Words of the first page: this, then when the account was begun.
      MAGIC = 0x316363416c637254 # "TrclAcc1", little endian
      BEGUN_AT = 1
      # How long is waited for the lock when the file is opened: another process may write it for the first time.
      OPENING_SECONDS = 1.0
      # A volume with less room than so many files is left to the cache.
      ROOM = 8
      private_constant :MAGIC, :BEGUN_AT, :OPENING_SECONDS, :ROOM

      # @return [#add, #load, #store, #own, #forget_own]
      attr_reader :counters
      # @return [String, nil] of the file
      attr_reader :path

      # @param path [String, nil] of the file; nil: the memory of this process
      # @param bytes [Integer]
      def initialize(path, bytes)
        @path = path
        @bytes = bytes
        open_file || open_memory
      end

      # @return [Symbol]
      def scope = @path ? :machine : :process

      # @return [Integer] epoch seconds
      def since = @counters.load(BEGUN_AT)

      # @return [Boolean] whether nobody has removed it
      def there? = @path.nil? || ::File.exist?(@path)

      # Runs the block alone among all processes, if that is possible soon.
      #
      # @param patience [Float] seconds
      # @return [Object, nil] what the block returns; nil where another process holds the lock
      def hold(patience)
        return yield unless @path
        @lock.hold(patience) do |file|
          begin_file(file) unless identity(file) == @mapped
          yield
        end
      rescue FileLock::Busy, SystemCallError, IOError
        nil
      end

      def pread(length, offset) = @memory ? @memory.pread(length, offset) : @lock.file.pread(length, offset)
      def pwrite(bytes, offset) = @memory ? @memory.pwrite(bytes, offset) : @lock.file.pwrite(bytes, offset)

      private

      def open_file
        return if @path.nil? || !Codec.native
        @lock = FileLock.new(@path, OPENING_SECONDS)
        @lock.hold { |file| begin_file(file) }
        true
      rescue FileLock::Busy, SystemCallError, IOError
        @lock&.close
        false
      end

      # @param file [File] locked; of this user, or nobody could be sure that it keeps its size
      def begin_file(file)
        raise Errno::EPERM, @path unless file.stat.uid == Process.euid
        write_anew(file) unless file.size == @bytes && file.pread(8, 0).unpack1("Q<") == MAGIC
        @counters = Codec.native::CounterPage.new(file.fileno)
        @mapped = identity(file)
      end

      # A child has another open file, and the same page.
      def identity(file) = file.stat.then { |stat| [stat.dev, stat.ino] }

      # Every byte is written, so that none is missing later where the disk is full then. It never becomes shorter:
      # another process may have it mapped.
      def write_anew(file)
        raise Errno::ENOSPC, @path if FreeSpace.beside(@path)&.<(@bytes * ROOM)
        file.pwrite("\0".b * @bytes, 0)
        file.pwrite([Clock.now.to_i].pack("Q<"), BEGUN_AT * 8)
        file.pwrite([MAGIC].pack("Q<"), 0)
      end

      def open_memory
        @path = @lock = nil
        @memory = Medium.new(@bytes)
        @counters = Counters.new
        @counters.store(BEGUN_AT, Clock.now.to_i)
      end
    end
  end
end
