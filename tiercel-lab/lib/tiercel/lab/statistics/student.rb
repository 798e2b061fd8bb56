# frozen_string_literal: true

module Tiercel
  module Lab
    module Statistics
      module_function

      # The share of Student's t distribution below a value. For whole degrees of freedom it is a finite sum (Abramowitz
      # and Stegun, 26.7.3 and 26.7.4).
      #
      # @param value [Float]
      # @param degrees [Integer] degrees of freedom, 1 or more
      # @return [Float]
      def t_share(value, degrees)
        raise ArgumentError, "degrees of freedom #{degrees.inspect}: expected 1 or more" if degrees < 1
        angle = Math.atan(value / Math.sqrt(degrees))
        cosine = Math.cos(angle)
        term, sum = degrees.odd? ? [cosine, degrees == 1 ? 0.0 : cosine] : [1.0, 1.0]
        (degrees.odd? ? 3 : 2).step(degrees - 2, 2) { |k| sum += (term *= cosine**2 * (k - 1) / k) }
        within = degrees.odd? ? (angle + (Math.sin(angle) * sum)) * 2 / Math::PI : Math.sin(angle) * sum
        0.5 + (within / 2)
      end

      # The value below which a share of Student's t distribution lies, by bisection.
      #
      # @param share [Float] 0.5 up to, not including, 1.0
      # @param degrees [Integer]
      # @return [Float]
      def t_quantile(share, degrees)
        raise ArgumentError, "share #{share.inspect}: expected 0.5 to 1.0" unless share >= 0.5 && share < 1.0
        low, high = 0.0, 1.0
        high *= 2 while t_share(high, degrees) < share
        60.times do
          middle = (low + high) / 2
          t_share(middle, degrees) < share ? low = middle : high = middle
        end
        high
      end
    end
  end
end
