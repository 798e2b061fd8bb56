# frozen_string_literal: true

require_relative "descriptive"

module Tiercel
  module Lab
    module Statistics
      # The blocks that make a mean larger than its median: their number, the cost of one, and the number of calls
      # between two.
      #
      # @!attribute [r] blocks
      #   @return [Integer] number of slow blocks
      # @!attribute [r] of
      #   @return [Integer] number of all blocks
      # @!attribute [r] ns
      #   @return [Float] mean cost of a slow block beyond the median
      # @!attribute [r] calls
      #   @return [Float] calls for each slow block
      SlowBlocks = Data.define(:blocks, :of, :ns, :calls) do
        # @param costs [Array<Float>] nanoseconds of a call, one figure for each block
        # @param calls [Float] calls of one block
        # @return [SlowBlocks, nil] nil without slow blocks
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
        # A slow block is at least this many median absolute deviations above the median: 6 standard deviations of a
        # normal distribution.
        FAR = 9.0
        # It also exceeds the median by at least this share.
        LEAST = 0.05
      end
    end
  end
end
