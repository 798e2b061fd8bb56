# frozen_string_literal: true

module Tiercel
  module Lab
    module Statistics
      # An estimate with its lower and upper bound.
      #
      # @!attribute [r] estimate
      #   @return [Float]
      # @!attribute [r] low
      #   @return [Float]
      # @!attribute [r] high
      #   @return [Float]
      Interval = Data.define(:estimate, :low, :high) do
        # @yieldparam value [Float]
        # @return [Interval] the result of an increasing function of estimate and bounds
        def map = Interval.new(yield(estimate), yield(low), yield(high))

        # @return [Interval] an interval of ratios, from this interval of logarithms
        def exp = map { |value| Math.exp(value) }

        # @return [Interval] the interval of 1/x, for positive bounds
        def inverse = Interval.new(1.0 / estimate, 1.0 / high, 1.0 / low)

        # @param other [Interval] positive
        # @return [Interval] this divided by the other; the bounds are the most distant ones
        def over(other) = Interval.new(estimate / other.estimate, low / other.high, high / other.low)

        # The difference of two estimates from their intervals, which may be asymmetric (MOVER: Zou and Donner,
        # "Construction of confidence limits about effect measures", Statistics in Medicine 27, 2008).
        #
        # @param other [Interval]
        # @return [Interval] this minus the other
        def minus(other)
          middle = estimate - other.estimate
          Interval.new(middle, middle - Math.hypot(estimate - low, other.high - other.estimate),
                       middle + Math.hypot(high - estimate, other.estimate - other.low))
        end

        # The sum of two independent estimates, by the same method.
        #
        # @param other [Interval]
        # @return [Interval]
        def plus(other)
          total = estimate + other.estimate
          Interval.new(total, total - Math.hypot(estimate - low, other.estimate - other.low),
                       total + Math.hypot(high - estimate, other.high - other.estimate))
        end

        # @return [Float] distance of the more distant bound from zero
        def reach = [low.abs, high.abs].max

        # @param value [Numeric]
        # @return [Boolean]
        def cover?(value) = value.between?(low, high)

        # @return [Array(Float, Float)]
        def bounds = [low, high]

        # @return [Hash{String => Float}] the form of the results file
        def record = to_h.transform_keys(&:to_s)
      end
    end
  end
end
