# frozen_string_literal: true

require_relative "descriptive"
require_relative "student"
require_relative "interval"

module Tiercel
  module Lab
    module Statistics
      # Hierarchical bootstrap of a median: processes are drawn with
      # replacement, then blocks within each process drawn (Kalibera and
      # Jones, "Rigorous Benchmarking in Reasonable Time", 2013).
      #
      # A percentile interval from few processes is too narrow: the bootstrap's
      # variance is (P - 1) / P of the true one, and its tails are the normal's.
      # So the expanded percentile interval is taken (Hesterberg, "What Teachers
      # Should Know About the Bootstrap", 2015, section 5.3): its tail share is
      # Φ(-sqrt(P / (P - 1)) t(0.975, P - 1)).
      class Bootstrap
        RESAMPLES = 10_000

        # @param seed [Integer]
        # @param resamples [Integer]
        def initialize(seed:, resamples: RESAMPLES)
          @seed = seed
          @resamples = resamples
          @draws = {}
        end

        # @param processes [Array<Array<Float>>] the values of each process's blocks
        # @return [Interval] the median of all, and its 95 % interval
        # @raise [ArgumentError] if a process has no value
        def interval(processes)
          medians = medians(processes).sort
          tail = tail_share(processes.size)
          Interval.new(Statistics.median(processes.flatten), Statistics.sorted_quantile(medians, tail),
                       Statistics.sorted_quantile(medians, 1.0 - tail))
        end

        # Two-sided: how often resampled medians lie beyond `at`, twice, never below what so many resamples can tell.
        #
        # @param processes [Array<Array<Float>>]
        # @param at [Float] the value asked about
        # @return [Float] 0.0 to 1.0
        def p_value(processes, at: 0.0)
          medians = medians(processes)
          beyond = [medians.count { |median| median <= at }, medians.count { |median| median >= at }].min
          [2.0 * (beyond + 1) / (@resamples + 1), 1.0].min
        end

        # @param processes [Array<Array<Float>>]
        # @return [Array<Float>] one median a resample, in the order drawn
        def medians(processes)
          raise ArgumentError, "bootstrap of no values" if processes.empty? || processes.any?(&:empty?)
          values = processes.flatten
          draws(processes.map(&:size)).map { |indexes| Statistics.median(values.values_at(*indexes)) }
        end

        private

        def tail_share(processes)
          return 0.0 if processes == 1 # one process says nothing of the next: the whole range
          Statistics.normal_share(-Math.sqrt(processes / (processes - 1.0)) * Statistics.t_975(processes - 1))
        end

        # The indexes of every resample depend on the sizes alone; cells of one run share them.
        def draws(sizes)
          @draws[sizes] ||= begin
            random = Random.new(@seed)
            starts = sizes.each_with_object([0]) { |size, sums| sums << (sums.last + size) }
            Array.new(@resamples) { draw(random, sizes, starts) }
          end
        end

        def draw(random, sizes, starts)
          indexes = []
          sizes.size.times do
            process = random.rand(sizes.size)
            size = sizes[process]
            start = starts[process]
            size.times { indexes << (start + random.rand(size)) }
          end
          indexes
        end
      end
    end
  end
end
