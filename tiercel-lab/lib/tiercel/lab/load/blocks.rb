# frozen_string_literal: true

require_relative "../engine/paired"
require_relative "../statistics"

module Tiercel
  module Lab
    module Load
      # The requests of one side as they were recorded: blocks of process, block, some facts of the block, and the
      # nanoseconds of each request.
      class Blocks
        # @param row [Hash{String => Object}] a row with "blocks"
        # @param facts [Integer] figures of a block; they follow the numbers of the process and the block
        def initialize(row, facts: 0)
          @blocks = row["blocks"]
          @from = 2 + facts
        end

        def any? = @blocks.any?

        # @return [Array<Integer>] durations of all requests
        def ns = @blocks.flat_map { |block| block.drop(@from) }

        # @yieldparam facts [Array<Numeric>] figures of the block
        # @yieldparam ns [Array<Integer>] durations of the block's requests
        # @yieldreturn [Float]
        # @return [Hash{Integer => Hash{Integer => Float}}] by process, then block
        def by_process
          @blocks.group_by(&:first).transform_values do |blocks|
            blocks.to_h { |block| [block[1], yield(block[2...@from], block.drop(@from))] }
          end
        end

        # @yield see {#by_process}
        # @return [Array<Float>] one figure for each block
        def figures(&) = by_process(&).values.flat_map(&:values)

        # @yield see {#by_process}
        # @return [Statistics::Interval]
        def interval(&) = Statistics::MedianInterval.of(by_process(&).values.map(&:values))

        # @param other [Blocks]
        # @yield see {#by_process}
        # @return [Statistics::Interval] the median ratio of paired blocks
        def ratio_to(other, &) = Engine::Paired.ratio(by_process(&), other.by_process(&))

        # How far two copies of the same side differ, by the more distant bound.
        #
        # @return [Float] 0.02: 2 %
        def noise_to(other, &) = Math.exp(ratio_to(other, &).map { |ratio| Math.log(ratio) }.reach) - 1.0

        # @return [Statistics::Interval] microseconds, from one figure for each process
        def quantile(share)
          each = @blocks.group_by(&:first).values.map do |blocks|
            [Statistics.quantile(blocks.flat_map { |block| block.drop(@from) }, share) / 1e3]
          end
          Statistics::MedianInterval.of_times(each)
        end
      end
    end
  end
end
