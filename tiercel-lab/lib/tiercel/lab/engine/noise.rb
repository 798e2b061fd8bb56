# frozen_string_literal: true

require_relative "../statistics"
require_relative "paired"

module Tiercel
  module Lab
    module Engine
      # How far the same code came from itself in a run, by medium: from the null arms of all comparisons together,
      # because those of one comparison are a handful of processes.
      class Noise
        # Deviations that count no more than this many usual ones.
        FAR = 3.0

        # @param cells [Array<Cell>] of a run
        # @return [Hash{Symbol => Noise}] by medium
        def self.of(cells)
          measured = cells.select(&:measured?)
          nulls = measured.select { |cell| cell.arm.role == :null }
          nulls.group_by { |cell| cell.arm.contestant.medium }.filter_map { |medium, group|
            deviations = group.flat_map { |null| deviations(null, measured) }
            [medium, new(deviations)] if deviations.any?
          }.to_h
        end

        # @return [Array<Float>] for each process the median logarithm of a null arm by its twin
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

        # @param processes [Integer] of a cell
        # @return [Float] how far such a cell may be from the same code by chance (95 %), 0.02: 2 %
        def floor(processes)
          reach = Statistics.t_quantile(0.975, [@deviations.size - 1, 1].max) * usual / Math.sqrt(processes)
          Math.exp(reach) - 1.0
        end

        private

        # The quadratic mean, in which one process that went wrong does not outweigh all others.
        def usual
          limit = FAR * Statistics.median(@deviations.map(&:abs)) * Statistics::ChangePoints::MAD_TO_DEVIATION
          squares = @deviations.map { |one| [one.abs, limit].min**2 }
          Math.sqrt(squares.sum / squares.size)
        end
      end
    end
  end
end
