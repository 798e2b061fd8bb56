# frozen_string_literal: true

require_relative "../statistics"
require_relative "paired"

module Tiercel
  module Lab
    module Engine
      # The noise floor of each medium: how much two copies of the same arm differ. It pools the null arms of all
      # comparisons, because a single comparison has only a few processes.
      class Noise
        # @param cells [Array<Cell>] cells of a run
        # @return [Hash{Symbol => Noise}] by medium
        def self.of(cells)
          measured = cells.select(&:measured?)
          nulls = measured.select { |cell| cell.arm.role == :null }
          nulls.group_by { |cell| cell.arm.contestant.medium }.filter_map { |medium, group|
            deviations = group.flat_map { |null| deviations(null, measured) }
            [medium, new(deviations)] if deviations.any?
          }.to_h
        end

        # @return [Array<Float>] for each process, the median logarithm of the null arm's time divided by its twin's
        def self.deviations(null, cells)
          twin = cells.find { |cell| cell.comparison.equal?(null.comparison) && cell.arm.id == null.arm.twin_of }
          return [] unless twin
          Paired.logs(null.block_ns, twin.block_ns).map { |logs| Statistics.median(logs) }
        end
        private_class_method :deviations

        # @param deviations [Array<Float>] logarithms
        def initialize(deviations)
          @deviations = deviations
        end

        # @param processes [Integer] number of processes of a cell
        # @return [Float] the bound below which 95 % of the differences between copies lie, 0.02: 2 %
        def floor(processes)
          usual = Statistics.clipped_deviation(@deviations)
          reach = Statistics.t_quantile(0.975, [@deviations.size - 1, 1].max) * usual / Math.sqrt(processes)
          Math.exp(reach) - 1.0
        end
      end
    end
  end
end
