# frozen_string_literal: true

require_relative "../../clock"

module Tiercel
  module Store
    module Fetch
      # The calls of one `fetch_multi` in slices, so that each lease is acquired just before its block runs. The first
      # slice has a few calls, later ones as many as are computed within {SPAN}. Other callers wait no longer for a name
      # than for its slice, and the table of leases does not fill.
      #
      # @private
      class Slices
        FIRST = 8
        MOST = 256
        # A slice is at most so many times as large as the one before.
        GROWTH = 4
        # Seconds.
        SPAN = 0.05
        private_constant :FIRST, :MOST, :GROWTH, :SPAN

        # @param calls [Array<Call>]
        def initialize(calls)
          @calls = calls
          @size = FIRST
          @next = 0
        end

        # @yieldparam calls [Array<Call>]
        # @return [void]
        def each
          while @next < @calls.size
            slice = @calls[@next, @size]
            @next += @size
            began = Clock.monotonic
            yield slice
            adapt(Clock.monotonic - began)
          end
        end

        private

        def adapt(seconds)
          fitting = seconds.positive? ? (@size * SPAN / seconds).floor : MOST
          @size = fitting.clamp(1, [@size * GROWTH, MOST].min)
        end
      end
    end
  end
end
