# frozen_string_literal: true

module Tiercel
  module Lab
    module Statistics
      module_function

      # Upper 97.5 % points of Student's t, by degrees of freedom (any statistics text's table).
      T_975 = [nil, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
               2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045,
               2.042].freeze
      # The same of the normal distribution.
      Z_975 = 1.959964

      # @param degrees [Integer] degrees of freedom, 1 or more
      # @return [Float] the 97.5 % point of Student's t
      def t_975(degrees)
        raise ArgumentError, "degrees of freedom #{degrees.inspect}: expected 1 or more" if degrees < 1
        # Beyond the table: the first terms of the expansion in 1/degrees (Abramowitz and Stegun, 26.7.5).
        T_975[degrees] || (Z_975 + (((Z_975**3) + Z_975) / (4.0 * degrees)))
      end

      # @param z [Float]
      # @return [Float] share of the standard normal distribution below z
      def normal_share(z) = 0.5 * Math.erfc(-z / Math.sqrt(2))
    end
  end
end
