# frozen_string_literal: true

require_relative "median_interval"

module Tiercel
  module Lab
    module Statistics
      # The interim analyses of a comparison: after how many processes each takes place, and its error probability.
      # Stopping at the first of many intervals that decides would find differences that do not exist. Therefore the
      # error probability is divided among the analyses before anything is measured (repeated confidence intervals:
      # Jennison and Turnbull, "Group Sequential Methods", 2000, chapter 9). Each analysis has twice the processes of
      # the previous one and half of its error probability. The sum 1/2 + 1/4 + ... of {MedianInterval::ALPHA} never
      # exceeds the whole, and Bonferroni's inequality holds however the analyses depend on each other.
      class InterimAnalyses
        # @param first [Integer] processes of the first analysis
        # @param most [Integer] maximum number of processes
        def initialize(first:, most:)
          @first = first
          @most = most
        end

        # @return [Array<Integer>] processes at each analysis
        def sizes = @sizes ||= [@first].tap { |all| all << (all.last * 2) while all.last * 2 <= @most }

        # @param processes [Integer]
        # @return [Float] the error probability of the analysis after this number of processes
        def alpha(processes)
          sizes.one? ? MedianInterval::ALPHA : MedianInterval::ALPHA / (2**(number(processes) + 1))
        end

        # Estimated number of processes needed for a verdict, given the current interval. The estimate supposes that the
        # center stays and that the interval narrows as the analyses proceed.
        #
        # @param interval [Interval] the current analysis' interval
        # @param processes [Integer] number of processes in the current analysis
        # @param distance [Float] from the center to the margin, in the interval's unit
        # @param most [Integer] the largest acceptable number of processes
        # @return [Integer, nil] nil if more than `most` are needed: the center is close to the margin
        def needed(interval, processes, distance:, most:)
          width = [interval.high - interval.estimate, interval.estimate - interval.low].max / spread(processes)
          size = @first
          size *= 2 while size <= most && (size <= processes || width * spread(size) >= distance)
          size if size <= most
        end

        private

        # The analysis' number, from 0. Sizes beyond the last analysis continue the series.
        def number(processes) = Math.log2(processes.fdiv(@first)).floor.clamp(0..)

        # An interval's width is proportional to this.
        def spread(processes)
          alpha = MedianInterval::ALPHA / (2**(number(processes) + 1))
          Statistics.t_quantile(1.0 - (alpha / 2), [processes - 1, 1].max) / Math.sqrt(processes)
        end
      end
    end
  end
end
