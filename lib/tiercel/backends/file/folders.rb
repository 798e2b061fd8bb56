# frozen_string_literal: true

require "fileutils"

require_relative "layout"
require_relative "record"
require_relative "stripe"

module Tiercel
  module Backends
    class File < Backend
      # The entries on disk, and the ledger of their number and size. Callers of every changing method must hold the
      # folder's lock (see {#hold}).
      class Folders
        # File systems allocate whole blocks, including those in memory.
        BLOCK_BYTES = 4_096
        # The access time of files whose entry never expires. The access time of a file shows its entry's expiry, so
        # that housekeeping need not read the file.
        ENDLESS_AT = Time.utc(2200).to_f
        # Passed if the expiry is unknown, because the entry was not read: the access time stays unchanged.
        UNKNOWN = Object.new.freeze
        WRITE = ::File::WRONLY | ::File::CREAT | ::File::TRUNC | ::File::BINARY
        # Maximum number of attempts to write a file, in case other processes remove its folder.
        ATTEMPTS = 4

        # @return [Layout]
        attr_reader :layout

        # @param directory [String]
        # @param settings [Settings]
        def initialize(directory, settings)
          @layout = Layout.new(directory)
          @stripes = Array.new(Layout::STRIPES) { |number| Stripe.new(@layout.lock(number), settings.timeout_seconds) }
        end

        # @param folder [Integer]
        # @yieldparam stripe [Stripe]
        def hold(folder, &) = @stripes[folder % Layout::STRIPES].hold(&)

        # Writes a temporary file and renames it into place.
        #
        # @return [Integer] bytes on disk that were added, negative if the size shrank
        def put(stripe, path, key, bytes, expires_at, token, now)
          before = ::File.size?(path)
          head = Record.head(key, bytes, expires_at, token)
          place(path, head, bytes, expires_at, now)
          added = blocks(head.bytesize + bytes.bytesize) - (before ? blocks(before) : 0)
          stripe.add(@layout.folder_of(path), added, before ? 0 : 1)
          added
        end

        # @return [Boolean] whether the file existed
        def remove(stripe, path, size = ::File.size?(path))
          ::File.unlink(path)
          stripe.add(@layout.folder_of(path), -blocks(size || 0), -1)
          true
        rescue Errno::ENOENT, Errno::EISDIR
          false
        end

        # Records a use in the modification time. Needs no lock.
        #
        # @param used_at [Float]
        # @param expires_at [Float, nil, UNKNOWN]
        def note_use(path, used_at, expires_at)
          ::File.utime(UNKNOWN.equal?(expires_at) ? ::File.stat(path).atime : hint(expires_at), used_at, path)
        rescue Errno::ENOENT
          nil
        end

        # @param folder [Integer]
        # @return [Array<String>] names of the entries, and of unfinished files that killed writers left
        def names(folder)
          Dir.children(@layout.folder(folder)).select { |name| Layout.ours?(name) }
        rescue Errno::ENOENT
          []
        end

        # @return [Array(Integer, Integer)] bytes on disk and entries of the whole cache, according to the ledgers
        def totals
          @stripes.map(&:totals).transpose.map(&:sum)
        end

        # @param folder [Integer]
        # @return [Integer] bytes on disk of the folder itself
        def own_bytes(folder) = blocks(::File.size?(@layout.folder(folder)) || 0)

        # @param size [Integer] the size of a file
        # @return [Integer] its size on disk
        def blocks(size) = (size + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES

        # @return [void]
        def close = @stripes.each(&:close)

        private

        def place(path, head, bytes, expires_at, now)
          temporary = @layout.temporary(path)
          attempts = 0
          begin
            FileUtils.mkdir_p(::File.dirname(path), mode: 0o700) if attempts.positive?
            write(temporary, head, bytes)
            ::File.utime(hint(expires_at), now, temporary)
            ::File.rename(temporary, path)
          rescue Errno::ENOENT # the folder is new, or was just removed
            raise if (attempts += 1) >= ATTEMPTS
            retry
          end
        rescue SystemCallError
          FileUtils.rm_f(temporary)
          raise
        end

        def write(temporary, head, bytes)
          ::File.open(temporary, WRITE, 0o600) do |file|
            file.binmode # an application may set Encoding.default_internal
            file.sync = true
            file.write(head, bytes)
          end
        end

        # A time that both file systems and Ruby can represent.
        def hint(expires_at) = expires_at && expires_at < ENDLESS_AT ? expires_at : ENDLESS_AT
      end
    end
  end
end
