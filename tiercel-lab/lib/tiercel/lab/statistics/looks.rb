# frozen_string_literal: true

require_relative "median_interval"

module Tiercel
  module Lab
    module Statistics
      # When a comparison is looked at, and how sure a look has to be. To look again and again and to stop at the first
      # interval that decides would find differences that are not there; so the chance to err is divided among the
      # looks before anything is measured (repeated confidence intervals: Jennison and Turnbull, "Group Sequential
      # Methods", 2000, chapter 9; the division by Bonferroni's inequality, which holds however looks depend on each
      # other). Each look has twice the processes of the one before and half of its chance to err: 1/2 + 1/4 + ... of
      # {MedianInterval::ALPHA} is never more than all of it, so all looks' intervals hold together, however many.
      class Looks
        # @param first [Integer] processes of the first look
        # @param most [Integer] processes at most
        def initialize(first:, most:)
          @first = first
          @most = most
        end

        # @return [Array<Integer>] processes at each look
        def sizes = @sizes ||= [@first].tap { |all| all << (all.last * 2) while all.last * 2 <= @most }

        # @param processes [Integer]
        # @return [Float] the chance to err of a look at so many; all of it where there is one look only
        def alpha(processes)
          sizes.one? ? MedianInterval::ALPHA : MedianInterval::ALPHA / (2**(number(processes) + 1))
        end

        # How many processes would decide what so many did not, if the estimate stays where it is and the interval
        # narrows as the looks say.
        #
        # @param interval [Interval] at the look of so many processes
        # @param processes [Integer]
        # @param distance [Float] from the estimate to what it is to be told from, in the interval's unit
        # @param most [Integer] beyond which nobody would wait
        # @return [Integer, nil] nil: more than that; the estimate is as good as at the bound
        def needed(interval, processes, distance:, most:)
          width = [interval.high - interval.estimate, interval.estimate - interval.low].max / spread(processes)
          size = @first
          size *= 2 while size <= most && (size <= processes || width * spread(size) >= distance)
          size if size <= most
        end

        private

        # The look's number, from 0; sizes beyond the last one go on in the same way.
        def number(processes) = Math.log2(processes.fdiv(@first)).floor.clamp(0..)

        # The quantity that an interval's width is proportional to.
        def spread(processes)
          alpha = MedianInterval::ALPHA / (2**(number(processes) + 1))
          Statistics.t_quantile(1.0 - (alpha / 2), [processes - 1, 1].max) / Math.sqrt(processes)
        end
      end
    end
  end
end
