# frozen_string_literal: true

module Tiercel
  module Lab
    module Simulator
      # A real {Tiercel::Backend} where a {Policy} would stand: the same calls,
      # with values of the sizes that the trace asks for.
      #
      # Every value that is read is held against the one that was written last.
      class BackendTarget
        # Values are cut from this many random bytes at a place that depends on the write.
        POOL_BYTES = 1 << 20

        # @return [Integer] reads that gave other bytes than the last write
        attr_reader :wrong
        # @return [Tiercel::Backend]
        attr_reader :backend

        # @param backend [Tiercel::Backend]
        # @param start_at [Float] epoch seconds where the trace's clock begins
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

        # Replays with the process's clock moved, where the trace has TTLs.
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

        # @return [Integer, nil] where the backend counts them
        def evictions
          count = @backend.stats[:evictions]
          count.is_a?(Hash) ? count.values.sum : count
        end

        # @return [Integer, nil] where the backend knows it
        def size = @backend.stats[:entries]

        # @return [Integer, nil] where the backend knows it
        def used = @backend.stats[:bytes]

        private

        # The number of the write in front, then random bytes: two writes never look alike.
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
