# frozen_string_literal: true

module Tiercel
  module Lab
    module Statistics
      # An estimate and the bounds that it was found to lie between.
      #
      # @!attribute [r] estimate
      #   @return [Float]
      # @!attribute [r] low
      #   @return [Float]
      # @!attribute [r] high
      #   @return [Float]
      Interval = Data.define(:estimate, :low, :high) do
        # @yieldparam value [Float]
        # @return [Interval] each of the three put through a rising function
        def map = Interval.new(yield(estimate), yield(low), yield(high))

        # @return [Interval] of ratios, from one of their logarithms
        def exp = map { |value| Math.exp(value) }

        # @return [Interval] of 1/x, for positive bounds
        def inverse = Interval.new(1.0 / estimate, 1.0 / high, 1.0 / low)

        # @param other [Interval] positive
        # @return [Interval] of this by the other, the bounds farthest apart
        def over(other) = Interval.new(estimate / other.estimate, low / other.high, high / other.low)

        # From the intervals of its terms, without assuming that they are symmetric (Zou and Donner, "Construction of
        # confidence limits about effect measures", Statistics in Medicine 27, 2008: MOVER).
        #
        # @param other [Interval]
        # @return [Interval] of this less the other
        def minus(other)
          middle = estimate - other.estimate
          Interval.new(middle, middle - Math.hypot(estimate - low, other.high - other.estimate),
                       middle + Math.hypot(high - estimate, other.estimate - other.low))
        end

        # The same of a sum of two that were measured apart.
        #
        # @param other [Interval]
        # @return [Interval]
        def plus(other)
          total = estimate + other.estimate
          Interval.new(total, total - Math.hypot(estimate - low, other.estimate - other.low),
                       total + Math.hypot(high - estimate, other.high - other.estimate))
        end

        # @return [Float] the farther bound's distance from zero
        def reach = [low.abs, high.abs].max

        # @param value [Numeric]
        # @return [Boolean]
        def cover?(value) = value.between?(low, high)

        # @return [Array(Float, Float)]
        def bounds = [low, high]

        # @return [Hash{String => Float}] as results hold it
        def record = to_h.transform_keys(&:to_s)
      end
    end
  end
end
