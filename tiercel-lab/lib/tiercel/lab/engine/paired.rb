# frozen_string_literal: true

require_relative "../statistics"

module Tiercel
  module Lab
    module Engine
      # Ratios of figures from the same blocks, which ran next to each other.
      module Paired
        module_function

        # @param mine [Hash{Object => Hash{Object => Float}}] figures by process, then block
        # @param theirs [Hash{Object => Hash{Object => Float}}]
        # @return [Array<Array<Float>>] logarithms of the ratios mine / theirs; one list for each process with blocks of
        #   both
        def logs(mine, theirs)
          mine.filter_map do |process, blocks|
            logs = blocks.filter_map do |block, figure|
              other = theirs.dig(process, block)
              Math.log(figure / other) if other
            end
            logs unless logs.empty?
          end
        end

        # @param mine [Hash{Object => Hash{Object => Float}}]
        # @param theirs [Hash{Object => Hash{Object => Float}}]
        # @return [Statistics::Interval, nil] ratio of the means over all pairs
        def mean_ratio(mine, theirs, alpha: Statistics::MedianInterval::ALPHA)
          pairs = mine.filter_map do |process, blocks|
            shared = blocks.keys & theirs.fetch(process, {}).keys
            [blocks, theirs[process]].map { |figures| figures.values_at(*shared) } unless shared.empty?
          end
          Statistics::MeanInterval.ratio(*pairs.transpose, alpha:) unless pairs.empty?
        end

        # @return [Statistics::Interval, nil] median ratio mine / theirs; nil without pairs
        def ratio(mine, theirs, alpha: Statistics::MedianInterval::ALPHA)
          logs = logs(mine, theirs)
          Statistics::MedianInterval.of(logs, alpha:).exp unless logs.empty?
        end
      end
    end
  end
end
