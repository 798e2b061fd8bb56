# frozen_string_literal: true

require_relative "../../backend"
require_relative "token"

module Tiercel
  module Backends
    class Memcached < Backend
      # Keeps the response lines of the last read of this thread or fiber; they contain the cas numbers. A hit
      # allocates no further object for it.
      module LastRead
        LINES = :tiercel_memcached_last_read
        private_constant :LINES

        module_function

        # @param lines [String, Array<String>, nil] the line of one key, or the lines of several keys in order
        # @return [void]
        def keep(lines)
          Thread.current[LINES] = lines
        end

        # @return [String, Array<String>, nil]
        def lines = Thread.current[LINES]

        # @param lines [String, Array<String>, nil]
        # @param index [Integer] the position of the key, if there were several
        # @return [Token, nil]
        def token(lines, index)
          line = lines.is_a?(Array) ? lines[index] : lines
          line && Token.of(line)
        end
      end
    end
  end
end
