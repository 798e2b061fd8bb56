# frozen_string_literal: true

module Tiercel
  module Backends
    class Memcached < Backend
      # Signed counters on memcached's unsigned ones.
      #
      # The server's own arithmetic stops at 0, wraps at 2**64, and leaves trailing spaces when a number loses a
      # digit. So it is used only for additions, the common case. Subtractions and negative numbers use
      # compare-and-swap.
      class Counters
        # With a larger amount, the sum could leave the signed range whatever the current count is.
        NATIVE_MAX = 2**32
        # The server's own subtraction, used by other clients, leaves spaces after a number that lost digits.
        PADDING = / +\z/n

        # @param node [Node]
        # @param key [String] the key, for errors
        # @param wire_key [String]
        def initialize(node, key, wire_key)
          @node = node
          @key = key
          @wire_key = wire_key
        end

        # @param amount [Integer]
        # @param ttl [Integer] for a new counter, in memcached's form
        # @return [Integer] the new count
        # @raise [NotACounter]
        # @raise [BackendError]
        def add(amount, ttl)
          @node.call(@key, resend: false) do |connection, deadline|
            native(connection, amount, ttl, deadline) || swap(connection, amount, ttl, deadline)
          end
        end

        private

        def native(connection, amount, ttl, deadline)
          return unless amount.between?(0, NATIVE_MAX)
          count, before, line = Protocol.increment(connection, @wire_key, amount, ttl, deadline)
          return count if count.nil?
          restore(connection, before, line, deadline) if before && !Counter.parse(before.sub(PADDING, ""))
          return count if count.between?(amount, Counter::MAX)
          swap(connection, -amount, ttl, deadline, out_of_range: true)
          Counter.in_range(Counter::MAX + 1, @key)
        end

        # The server added to text that is nearly a number, such as "007". Another caller may have changed the entry
        # since; then it stays.
        def restore(connection, before, line, deadline)
          stored?(connection, before, seconds_left(line), deadline, token: Token.of(line))
          Counter.add(before, 0, @key) # raises
        end

        # @param out_of_range [Boolean] whether this reverts an addition that left the range
        def swap(connection, amount, ttl, deadline, out_of_range: false)
          loop do
            bytes, line = Protocol.get_with_details(connection, @wire_key, deadline)
            unless bytes
              return amount if stored?(connection, amount, ttl, deadline, mode: :add)
              next
            end
            sum = out_of_range ? (bytes.to_i + amount) % 2**64 : Counter.add(bytes.sub(PADDING, ""), amount, @key)
            return sum if stored?(connection, sum, seconds_left(line), deadline, token: Token.of(line))
          end
        end

        def stored?(connection, count, ttl, deadline, **condition)
          raise IO::TimeoutError, "other callers kept changing the counter" if Clock.monotonic > deadline
          Protocol.set(connection, @wire_key, count.to_s, ttl, deadline, **condition) == :stored
        end

        # 0 would mean no expiry.
        def seconds_left(line)
          left = Protocol.number(line, " t")
          left.nil? || left.negative? ? 0 : [left, 1].max
        end
      end
    end
  end
end
