# frozen_string_literal: true

module Tiercel::Lab
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

    # Finds the start of a process' recording. A store does not reach its pace after a fixed number of calls: it may
    # keep a value only after some reads, the collector comes later, a memo fills. A quick run that recorded from the
    # second slice on reported 1.57 us for a read of 0.37 us.
    module SteadyState
      # The number of probes in a window. A window is compared with the window before it.
      WINDOW = 6
      # If a window is faster than the one before by more than this share, probing continues.
      STEP = 0.05
      # Maximum duration of the probes of an arm.
      MOST_SECONDS = 1.0
      # Minimum duration of the probes, by medium: short calls inside the process reach their pace within 0.1 s.
      LEAST_SECONDS = Hash.new(0.0).merge(process: 0.08).freeze
      # Probing continues while the process touches more new pages than this, for at most so long: writes of 50 rows
      # take 20 us while they fill the memory of `memory:` for the first time, which takes 0.2 s, and 15 us from then
      # on. Some stores always touch new pages.
      PAGES_A_SECOND = 10_000
      TOUCHING_SECONDS = 0.4
      # The first blocks are warm-up if each of them costs this much more than every later one.
      FALL = 1.15

      module_function

      # Probes until two windows in a row do not fall.
      #
      # @param least_seconds [Float]
      # @param pages [#call] pages that the process has touched so far
      # @yieldreturn [Float] nanoseconds of a call in one more probe
      # @return [Boolean] whether a steady state was reached
      def reach(least_seconds: 0.0, most_seconds: MOST_SECONDS, pages: -> { 0 }, clock: Stopwatch.method(:seconds))
        started, probes, touched = clock.call, [], []
        loop do
          probes << yield
          spent = clock.call - started
          touched << [spent, pages.call]
          return true if spent >= least_seconds && steady?(probes) && !touching?(touched)
          return false if spent >= most_seconds
        end
      end

      # @param touched [Array<Array(Float, Integer)>] after each probe, the time since the first one and the pages
      def touching?(touched)
        (since, before), (spent, pages) = touched.last(WINDOW).minmax
        spent < TOUCHING_SECONDS && pages - before > PAGES_A_SECOND * (spent - since)
      end

      # @param probes [Array<Float>]
      def steady?(probes)
        return false if probes.size < WINDOW * 2
        before, after = probes.last(WINDOW * 2).each_slice(WINDOW).map { |window| Statistics.median(window) }
        after >= before * (1.0 - STEP)
      end

      # The last change point of a process' blocks, if its blocks only fell before it.
      #
      # @param costs [Array<Float>] costs of the blocks in their order
      # @return [Integer] number of first blocks that are warm-up: none, or from two up to half of all blocks; a single
      #   expensive block is probably a pause
      def warm_up(costs)
        (costs.size / 2).downto(2).find { |size| costs.first(size).min > costs.drop(size).max * FALL } || 0
      end
    end
  end
end
