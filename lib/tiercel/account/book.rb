# frozen_string_literal: true

require_relative "../codec"
require_relative "../file_lock"
require_relative "../clock/patches"
require_relative "../free_space"
require_relative "../memory_file"

module Tiercel
  class Account
    # The storage of an account: a file that all processes of the machine share, or the memory of this process. The
    # process maps the file's first page, so its counts survive the process. It reads and writes the rest under the
    # file's lock.
    #
    # @private
    class Book
      # The first word of the first page, and the place of the time when the account began.
      MAGIC = 0x316363416c637254 # "TrclAcc1", little endian
      BEGUN_AT = 1
      # The longest wait for the lock when a process opens the file, since another process may be creating it.
      OPENING_SECONDS = 1.0
      # The volume must have room for this many account files. Otherwise no account file is created, so that the cache
      # can use all of the volume.
      ROOM = 8
      private_constant :MAGIC, :BEGUN_AT, :OPENING_SECONDS, :ROOM

      Clock::Patches.watch { |original| Codec.native::CounterPage.reads_clock = original } if Codec.native

      # @return [#add, #hit, #miss, #block, #due?, #rest, #add_silently, #load, #store, #own]
      attr_reader :counters
      # @return [String, nil] the path of the file
      attr_reader :path

      # @param path [String, nil] the path of the file; nil: the memory of this process
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

      # @return [Boolean] whether the file still exists
      def there? = @path.nil? || ::File.exist?(@path)

      # Runs the block under the file's lock.
      #
      # @param patience [Float] the longest wait for the lock, in seconds
      # @return [Object, nil] the block's value; nil if another process holds the lock
      def hold(patience)
        return yield unless @path
        @lock.hold(patience) do |file|
          begin_file(file) unless identity(file) == @mapped && file.size >= @bytes
          yield
        end
      rescue FileLock::Busy, SystemCallError, IOError
        nil
      end

      # Bytes that another program has cut off are zeros, until the next round writes the file anew.
      def pread(length, offset)
        medium.pread(length, offset).ljust(length, "\0")
      rescue EOFError
        "\0".b * length
      end

      def pwrite(bytes, offset) = medium.pwrite(bytes, offset)

      private

      def medium = @memory || @lock.file

      def open_file
        return if @path.nil? || !Codec.native
        @lock = FileLock.new(@path, OPENING_SECONDS)
        @lock.hold { |file| begin_file(file) }
        true
      rescue FileLock::Busy, SystemCallError, IOError
        @lock&.close
        false
      end

      # @param file [File] locked. It must belong to this user, because another user could shorten it.
      def begin_file(file)
        raise Errno::EPERM, @path unless file.stat.uid == Process.euid
        write_anew(file) unless file.size == @bytes && file.pread(8, 0).unpack1("Q<") == MAGIC
        @counters = Codec.native::CounterPage.new(file.fileno)
        @mapped = identity(file)
      end

      # A child opens the file again, but keeps the mapped page.
      def identity(file) = file.stat.then { |stat| [stat.dev, stat.ino] }

      # Writes every byte, so that the file has its room before the disk is full. The file never becomes shorter,
      # because another process may have mapped it.
      def write_anew(file)
        raise Errno::ENOSPC, @path if FreeSpace.beside(@path)&.<(@bytes * ROOM)
        file.pwrite("\0".b * @bytes, 0)
        file.pwrite([Clock.seconds].pack("Q<"), BEGUN_AT * 8)
        file.pwrite([MAGIC].pack("Q<"), 0)
      end

      def open_memory
        @path = @lock = nil
        @memory = MemoryFile.new("\0".b * @bytes)
        @counters = Codec.native ? Codec.native::CounterPage.new(nil) : Counters.new
        @counters.store(BEGUN_AT, Clock.seconds)
      end
    end
  end
end
