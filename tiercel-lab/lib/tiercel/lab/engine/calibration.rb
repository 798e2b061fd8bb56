# frozen_string_literal: true

require_relative "protocol"
require_relative "stopwatch"

module Tiercel
  module Lab
    module Engine
      # Warms an arm up and finds the number of calls of a slice. The first process of a run calibrates; later processes
      # use the same numbers.
      class Calibration
        # Shorter probes are too imprecise.
        PROBE_NS = 2_000_000
        # Probes of each length.
        PROBES = 3
        # A single probe this long needs no repetition: interruptions cannot explain its length.
        SLOW_NS = 50_000_000

        # @param arm [Arm]
        # @param slice_ns [Integer]
        # @param value [Value]
        # @param stopwatch [#time, #seconds]
        def initialize(arm, slice_ns:, value:, stopwatch: Stopwatch)
          @arm = arm
          @slice_ns = slice_ns
          @value = value
          @stopwatch = stopwatch
        end

        # @param calls [Integer, nil] the number that an earlier process found; nil: find it
        # @return [Integer] calls made
        def warm_up(calls)
          deadline = @stopwatch.seconds + Protocol::WARM_UP_SECONDS
          made = 0
          until made >= (calls || [Protocol::WARM_UP_CALLS, least].max)
            break if calls.nil? && made >= least && @stopwatch.seconds > deadline
            slice(1)
            made += 1
          end
          made
        end

        # @return [Integer] calls for a slice
        def calls
          settle unless @arm.operation.prepared?
          number = 1
          while (ns = shortest(number)) < PROBE_NS && number < limit
            number = [number * 2, limit].min
          end
          fit(ns.to_f / number).clamp(1, limit)
        end

        private

        def least
          return Protocol::WARM_UP_LEAST unless @arm.contestant.tiers.size > 1
          @arm.count * Protocol::WARM_UP_PASSES
        end

        # Goes through all names a few times, because a store may keep a value after its second read, and return it much
        # faster from then on.
        def settle
          deadline = @stopwatch.seconds + Protocol::WARM_UP_SECONDS
          (@arm.count * Protocol::SETTLING_PASSES).times do
            break if @stopwatch.seconds > deadline
            @arm.run(1)
          end
        end

        # The shortest of several probes: an interruption by another program or a compilation can make one probe a
        # hundred times as long.
        #
        # @return [Integer] ns
        def shortest(number)
          first = slice(number)
          return first if first > SLOW_NS
          [first, *Array.new(PROBES - 1) { slice(number) }].min
        end

        # Prepares and runs a slice.
        #
        # @return [Integer] ns by the cell's clock
        def slice(number)
          @arm.operation.before_slice(@arm, number) if @arm.operation.prepared?
          ns, _gc_ns, cpu_ns = @stopwatch.time { @arm.run(number) }
          (@arm.operation.clock || @arm.contestant.clock) == :cpu ? cpu_ns : ns
        end

        def fit(ns_per_call)
          number = (@slice_ns / ns_per_call).ceil
          return number unless %i[loopback remote].include?(@arm.contestant.medium)
          [number, [Protocol::NETWORK_CALLS, (Protocol::SLICE_MOST_NS / ns_per_call).floor].min].max
        end

        def limit = @arm.operation.most_calls(@value)
      end
    end
  end
end
