# frozen_string_literal: true

require_relative "../../clock"

module Tiercel
  module Store
    module Fetch
      # Divides the calls of a `fetch_multi` into slices, so that each lease is acquired just before its block runs. The
      # first slice has a few calls; each later slice has as many calls as {SPAN} allows. So another caller waits for
      # one slice at most, and the leases of a large call do not fill the table of leases.
      #
      # @private
      class Slices
        FIRST = 8
        MOST = 256
        # A slice is at most this many times as large as the previous slice.
        GROWTH = 4
        # Planned duration of a slice in seconds.
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
