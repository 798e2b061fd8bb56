# frozen_string_literal: true

module Tiercel
  module Lab
    module Statistics
      module_function

      # Adjusts p values of several questions asked at once, so that the chance of one false answer among all stays
      # what it was for one (Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979).
      #
      # @param p_values [Array<Float>]
      # @return [Array<Float>] in the same order, each at most 1.0
      def holm(p_values)
        highest = 0.0
        ascending = p_values.each_index.sort_by { |index| p_values[index] }
        ascending.each_with_index.each_with_object(Array.new(p_values.size)) do |(index, rank), adjusted|
          highest = [highest, p_values[index] * (p_values.size - rank)].max
          adjusted[index] = [highest, 1.0].min
        end
      end
    end
  end
end
