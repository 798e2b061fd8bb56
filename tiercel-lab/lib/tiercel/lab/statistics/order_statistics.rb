# frozen_string_literal: true

require_relative "descriptive"
require_relative "interval"

module Tiercel
  module Lab
    module Statistics
      # What can be said of a median from ranks alone, whatever the distribution.
      module OrderStatistics
        module_function

        # The narrowest symmetric pair of order statistics that covers the median with at least `level`: the count of
        # values below the median is binomial(n, 1/2) (David and Nagaraja, Order Statistics, 7.1).
        #
        # @param values [Array<Numeric>]
        # @param level [Float]
        # @return [Interval, nil] nil where even the smallest and the largest value do not cover it so often
        #   (fewer than 6 values at 95 %)
        def median_interval(values, level: 0.95)
          sorted = values.sort
          rank = lower_rank(sorted.size, level)
          rank && Interval.new(Statistics.sorted_median(sorted), sorted[rank], sorted[-1 - rank])
        end

        # @param size [Integer] number of values
        # @param rank [Integer] 0 for (smallest, largest), 1 for (second smallest, second largest), ...
        # @return [Float] how often that pair covers the median
        def coverage(size, rank)
          outside = (0..rank).sum { |count| combinations(size, count) }
          1.0 - (2.0 * outside / (2**size))
        end

        def lower_rank(size, level)
          (0...((size + 1) / 2)).take_while { |rank| coverage(size, rank) >= level }.last
        end
        private_class_method :lower_rank

        def combinations(size, count)
          (1..count).reduce(1) { |product, step| product * (size - count + step) / step }
        end
        private_class_method :combinations
      end
    end
  end
end
