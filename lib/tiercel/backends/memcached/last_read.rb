# frozen_string_literal: true

require_relative "../../backend"
require_relative "token"

module Tiercel
  module Backends
    class Memcached < Backend
      # The reply's lines of the last read of this thread or fiber, which contain its cas numbers.
      # A read that finds a value costs no object more for it.
      module LastRead
        LINES = :tiercel_memcached_last_read
        private_constant :LINES

        module_function

        # @param lines [String, Array<String>, nil] of one key, or of several in their order
        # @return [void]
        def keep(lines)
          Thread.current[LINES] = lines
        end

        # @return [String, Array<String>, nil]
        def lines = Thread.current[LINES]

        # @param lines [String, Array<String>, nil]
        # @param index [Integer] of the key, where there were several
        # @return [Token, nil]
        def token(lines, index)
          line = lines.is_a?(Array) ? lines[index] : lines
          line && Token.of(line)
        end
      end
    end
  end
end
