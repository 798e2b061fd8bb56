# frozen_string_literal: true

require_relative "descriptive"

module Tiercel
  module Lab
    module Statistics
      # The blocks that make a mean larger than its median: how many of how many, what one costs beyond the median, and
      # once in how many calls that comes.
      #
      # @!attribute [r] blocks
      #   @return [Integer]
      # @!attribute [r] of
      #   @return [Integer]
      # @!attribute [r] ns
      #   @return [Float] of one slow block, beyond the median, mean
      # @!attribute [r] calls
      #   @return [Float] calls to one slow block
      SlowBlocks = Data.define(:blocks, :of, :ns, :calls) do
        # @param costs [Array<Float>] nanoseconds a call, one figure a block
        # @param calls [Float] in one block
        # @return [SlowBlocks, nil] nil where no block is slow
        def self.among(costs, calls:)
          middle = Statistics.median(costs)
          limit = middle + [Statistics.mad(costs) * SlowBlocks::FAR, middle * SlowBlocks::LEAST].max
          slow = costs.select { |cost| cost > limit }
          return if slow.empty?
          excess = (slow.sum / slow.size) - middle
          new(blocks: slow.size, of: costs.size, ns: excess * calls, calls: costs.size * calls / slow.size)
        end

        # @return [Hash{String => Numeric}]
        def record = to_h.transform_keys(&:to_s)
      end

      class SlowBlocks
        # Deviations (median, absolute) from the median: 6 standard deviations of a normal distribution.
        FAR = 9.0
        # And at least this share of the median.
        LEAST = 0.05
      end
    end
  end
end
