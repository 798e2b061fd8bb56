# frozen_string_literal: true

require "fileutils"

require_relative "layout"
require_relative "record"
require_relative "stripe"

module Tiercel
  module Backends
    class File < Backend
      # The entries on disk and the ledger that follows them. Every method that
      # changes something is called with the folder's lock held (see {#hold}).
      class Folders
        # Files take whole blocks; also in memory file systems.
        BLOCK_BYTES = 4_096
        # For entries without an end: the access time is the hint about the end that costs no read.
        ENDLESS_AT = Time.utc(2200).to_f
        # Of an entry that was not read: the hint stays what it is.
        UNKNOWN = Object.new.freeze
        WRITE = ::File::WRONLY | ::File::CREAT | ::File::TRUNC | ::File::BINARY
        # Of writing a file, where others remove the folder at the same time.
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

        # Writes a file beside its place and moves it there.
        #
        # @return [Integer] bytes on disk that came, negative if some went
        def put(stripe, path, key, bytes, expires_at, token, now)
          before = ::File.size?(path)
          head = Record.head(key, bytes, expires_at, token)
          place(path, head, bytes, expires_at, now)
          added = blocks(head.bytesize + bytes.bytesize) - (before ? blocks(before) : 0)
          stripe.add(@layout.folder_of(path), added, before ? 0 : 1)
          added
        end

        # @return [Boolean] whether there was a file
        def remove(stripe, path, size = ::File.size?(path))
          ::File.unlink(path)
          stripe.add(@layout.folder_of(path), -blocks(size || 0), -1)
          true
        rescue Errno::ENOENT, Errno::EISDIR
          false
        end

        # Notes a use: the time of modification is that of the last use. It needs no lock.
        #
        # @param used_at [Float]
        # @param expires_at [Float, nil, UNKNOWN]
        def note_use(path, used_at, expires_at)
          ::File.utime(UNKNOWN.equal?(expires_at) ? ::File.stat(path).atime : hint(expires_at), used_at, path)
        rescue Errno::ENOENT
          nil
        end

        # @param folder [Integer]
        # @return [Array<String>] names of the entries, and of what writers left
        def names(folder)
          Dir.children(@layout.folder(folder)).select { |name| Layout.ours?(name) }
        rescue Errno::ENOENT
          []
        end

        # @return [Array(Integer, Integer)] bytes on disk and entries of the whole cache, as the ledgers say
        def totals
          @stripes.map(&:totals).transpose.map(&:sum)
        end

        # @param folder [Integer]
        # @return [Integer] bytes on disk of the folder itself
        def own_bytes(folder) = blocks(::File.size?(@layout.folder(folder)) || 0)

        # @param size [Integer] of a file
        # @return [Integer] what it takes on disk
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
          rescue Errno::ENOENT # the folder is new, or was removed meanwhile
            raise if (attempts += 1) >= ATTEMPTS
            retry
          end
        rescue SystemCallError
          FileUtils.rm_f(temporary)
          raise
        end

        def write(temporary, head, bytes)
          ::File.open(temporary, WRITE, 0o600) do |file|
            file.binmode # applications may have an Encoding.default_internal
            file.sync = true
            file.write(head, bytes)
          end
        end

        # A time that file systems and Ruby can represent.
        def hint(expires_at) = expires_at && expires_at < ENDLESS_AT ? expires_at : ENDLESS_AT
      end
    end
  end
end
