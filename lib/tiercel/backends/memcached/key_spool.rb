# frozen_string_literal: true

require "tempfile"

require_relative "../../backend"

module Tiercel
  module Backends
    class Memcached < Backend
      # Buffers keys that arrive faster than the caller uses them: in memory up to a size that suffices for most
      # caches, then in an unlinked temporary file.
      class KeySpool
        MEMORY_BYTES = 4 * 1024 * 1024

        # @param name [String] the server's name, for errors
        # @param folder [String, nil] the folder of the temporary file; nil for the system's
        def initialize(name, folder: nil)
          @name = name
          @folder = folder
          @lines = String.new
          @count = 0
        end

        # @param key [String] without line feeds
        # @return [void]
        # @raise [Refused] if the keys do not fit into memory and no file can be written
        def add(key)
          @lines << key << "\n"
          @count += 1
          spill if @lines.bytesize > MEMORY_BYTES
        end

        # @yieldparam key [String] in the order in which they were added
        # @return [void]
        # @raise [Refused]
        def each(&)
          @file&.rewind
          @file&.each_line(chomp: true, &)
          @lines.each_line(chomp: true, &)
        end

        # @return [void]
        def close = @file&.close

        private

        def spill
          @file ||= nameless_file
          @file.write(@lines)
          @lines.clear
        rescue SystemCallError, IOError, ArgumentError => error # ArgumentError: no folder for temporary files
          raise Refused.new("#{@count} keys and more need a temporary file, which cannot be written " \
                            "(#{error.message}): set TMPDIR to a folder with free space", backend: @name)
        end

        def nameless_file
          file = Tempfile.create("tiercel-keys", @folder)
          ::File.unlink(file.path)
          file.sync = true # so that a write error is raised here, not during a later read
          file.binmode
        end
      end
    end
  end
end
