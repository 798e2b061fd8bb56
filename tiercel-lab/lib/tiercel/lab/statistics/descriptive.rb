# frozen_string_literal: true

module Tiercel
  module Lab
    module Statistics
      # Factor from the median absolute deviation to the standard deviation of a normal distribution.
      MAD_TO_DEVIATION = 1.4826
      # See {clipped_deviation}.
      CLIPPED_AT = 3.0

      module_function

      # @param values [Array<Numeric>] a non-empty Array
      # @return [Numeric] the middle value, or the mean of the two middle values
      # @raise [ArgumentError] for an empty Array
      def median(values) = sorted_median(values.sort)

      # @param sorted [Array<Numeric>] values in ascending order
      # @return [Numeric]
      def sorted_median(sorted)
        size = sorted.size
        raise ArgumentError, "median of no values" if size.zero?
        middle = size / 2
        size.odd? ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0
      end

      # The median absolute deviation from the median, without a scale factor.
      #
      # @param values [Array<Numeric>]
      # @return [Numeric]
      def mad(values)
        center = median(values)
        median(values.map { |value| (value - center).abs })
      end

      # The root mean square of deviations. A deviation is limited to {CLIPPED_AT} times the usual deviation, so that a
      # single outlier does not dominate. (The median of normally distributed deviations is robust too, but has 37 % of
      # the efficiency.)
      #
      # @param deviations [Array<Numeric>] around 0
      # @return [Float]
      def clipped_deviation(deviations)
        limit = CLIPPED_AT * median(deviations.map(&:abs)) * MAD_TO_DEVIATION
        Math.sqrt(deviations.sum { |one| [one.abs, limit].min**2 } / deviations.size)
      end

      # Interpolates between the two nearest ranks (type 7 of Hyndman and Fan, 1996, as in R, NumPy and spreadsheets).
      #
      # @param values [Array<Numeric>]
      # @param share [Float] 0.0 to 1.0
      # @return [Float]
      def quantile(values, share) = sorted_quantile(values.sort, share)

      # @param sorted [Array<Numeric>] values in ascending order
      # @param share [Float] 0.0 to 1.0
      # @return [Float]
      def sorted_quantile(sorted, share)
        raise ArgumentError, "quantile of no values" if sorted.empty?
        raise ArgumentError, "quantile #{share.inspect}: expected 0.0 to 1.0" unless share.between?(0, 1)
        position = (sorted.size - 1) * share
        below = position.floor
        above = [below + 1, sorted.size - 1].min
        sorted[below] + ((sorted[above] - sorted[below]) * (position - below)).to_f
      end
    end
  end
end
