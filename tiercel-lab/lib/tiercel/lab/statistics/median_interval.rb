# frozen_string_literal: true

require_relative "descriptive"
require_relative "interval"
require_relative "student"

module Tiercel
  module Lab
    module Statistics
      # The interval of a median over the values of several processes. Blocks of one process depend on each other, so
      # each process counts once: its score for a supposed median is the mean sign of its values' distances from that
      # median. The interval contains all medians for which a t test does not refuse that the mean score is zero (the
      # sign test for clustered data: Gerard and Schucany, "An enhanced sign test for dependent binary data with small
      # numbers of clusters", Computational Statistics & Data Analysis 51, 2007).
      #
      # The method supposes no distribution: on a shared machine the values have long tails. adr/010 compares it with
      # other methods.
      module MedianInterval
        # Probability that an interval misses the median.
        ALPHA = 0.05

        module_function

        # @param processes [Array<Array<Float>>] the values of each process
        # @param alpha [Float]
        # @return [Interval] the median of all values with its bounds; for a single process, the whole range
        # @raise [ArgumentError] without processes, or if a process has no values
        def of(processes, alpha: ALPHA)
          raise ArgumentError, "median of no values" if processes.empty? || processes.any?(&:empty?)
          sorted = processes.flatten.sort
          return Interval.new(Statistics.sorted_median(sorted), *sorted.minmax) if processes.one?
          critical = Statistics.t_quantile(1.0 - (alpha / 2), processes.size - 1)
          possible = ->(median) { statistic(processes, median) <= critical }
          first = sorted.index(&possible) || (sorted.size / 2)
          last = sorted.rindex(&possible) || (sorted.size / 2)
          Interval.new(Statistics.sorted_median(sorted), sorted[[first - 1, 0].max],
                       sorted[[last + 1, sorted.size - 1].min])
        end

        # @param processes [Array<Array<Float>>]
        # @param at [Float] the supposed median
        # @return [Float] two-sided; 1.0 for a single process
        def p_value(processes, at: 0.0)
          return 1.0 if processes.size < 2
          2.0 * (1.0 - Statistics.t_share(statistic(processes, at), processes.size - 1))
        end

        # Student's t of the processes' scores.
        def statistic(processes, median)
          scores = processes.map { |values| values.sum { |value| value <=> median }.fdiv(values.size) }
          mean = scores.sum / scores.size
          variance = scores.sum { |score| (score - mean)**2 } / (scores.size - 1)
          return mean.zero? ? 0.0 : Float::INFINITY if variance.zero?
          mean.abs / Math.sqrt(variance / scores.size)
        end
        private_class_method :statistic
      end
    end
  end
end
