# frozen_string_literal: true

module Tiercel
  module Lab
    module Simulator
      # Replays a trace on a real {Tiercel::Backend}. It has the methods of a {Policy}, and writes values of the trace's
      # sizes.
      #
      # It compares every value that it reads with the last value that it wrote.
      class BackendTarget
        # Values are slices of this many random bytes; the offset depends on the write.
        POOL_BYTES = 1 << 20

        # @return [Integer] reads that returned other bytes than the last write
        attr_reader :wrong
        # @return [Tiercel::Backend]
        attr_reader :backend

        # @param backend [Tiercel::Backend]
        # @param start_at [Float] epoch seconds at which the trace's clock starts
        def initialize(backend, start_at: Clock.now)
          @backend = backend
          @start_at = start_at
          @pool = Random.new(1).bytes(POOL_BYTES)
          @written = {}
          @wrong = 0
          @writes = 0
        end

        # @param trace [Trace]
        # @return [void]
        def prepare(trace); end

        # Moves the process' clock during the replay if the trace has TTLs.
        #
        # @param trace [Trace]
        # @return [Object] the block's value
        def around(trace, &block)
          @moves_clock = trace.ttls?
          @moves_clock ? VirtualClock.run(@start_at, &block) : yield
        end

        # @param _index [Integer]
        # @param now [Float] seconds on the trace's clock
        # @return [void]
        def advance(_index, now)
          VirtualClock.at = @start_at + now if @moves_clock
        end

        # @param key [String]
        # @return [Boolean] whether it is a hit
        def get(key)
          bytes = @backend.get(key)
          return false unless bytes
          @wrong += 1 unless same?(bytes, @written[key])
          true
        end

        # @param key [String]
        # @param size [Integer] bytes
        # @param ttl [Numeric, nil] seconds
        # @return [Boolean]
        def set(key, size, ttl = nil)
          @writes += 1
          mark = [@writes, size]
          @written[key] = mark
          @backend.set(key, value(*mark), ttl)
        end

        # @param key [String]
        # @return [Boolean]
        def delete(key)
          @written.delete(key)
          @backend.delete(key)
        end

        # @return [Integer, nil] nil if the backend does not count them
        def evictions
          count = @backend.stats[:evictions]
          count.is_a?(Hash) ? count.values.sum : count
        end

        # @return [Integer, nil] nil if the backend does not know
        def size = @backend.stats[:entries]

        # @return [Integer, nil] nil if the backend does not know
        def used = @backend.stats[:bytes]

        private

        # The number of the write, then random bytes, so that no two values are equal.
        def value(number, size)
          return [number].pack("Q<").byteslice(0, size) if size <= 8
          rest = size - 8
          return [number].pack("Q<") << @pool.byteslice(number % (POOL_BYTES - rest), rest) if rest < POOL_BYTES
          [number].pack("Q<") << (@pool * (rest.fdiv(POOL_BYTES).ceil)).byteslice(0, rest)
        end

        def same?(bytes, mark) = !mark.nil? && bytes.bytesize == mark.last && bytes == value(*mark)
      end
    end
  end
end
