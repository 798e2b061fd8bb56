# frozen_string_literal: true

module Tiercel
  module Lab
    module Statistics
      # Judges an interval of ratios (an arm's time divided by the baseline's) by a margin that was fixed before the
      # measurement. A verdict needs the whole interval on one side of the margin. Noise widens the interval, never the
      # margin.
      #
      # A cell has two intervals: the median's is narrow, and the mean's includes rare costs.
      module Verdict
        ALL = %i[faster slower same uneven cannot_tell].freeze
        # For "same", the wider interval lies within this many margins.
        WIDE = 2

        module_function

        # @param interval [Interval] an interval of ratios; below 1.0 the arm takes less time
        # @param margin [Float] 0.02: ratios from 1 / 1.02 to 1.02 are the same, whichever arm is the baseline
        # @param equality [Boolean] whether :same is a possible verdict (a quick run is too short for it)
        # @return [Symbol] one of {ALL}
        def of(interval, margin:, equality: true)
          above = 1.0 + margin
          below = 1.0 / above
          return :faster if interval.high < below
          return :slower if interval.low > above
          return :same if equality && interval.low >= below && interval.high <= above
          :cannot_tell
        end

        # Judges by median and mean. If they differ by more than the margin and their verdicts differ too, a few blocks
        # are expensive: the verdict is :uneven. If only one interval decides, the other one must not contradict it.
        #
        # @param median [Interval] median of the ratios
        # @param mean [Interval] mean of the ratios
        # @return [Symbol] one of {ALL}
        def by_both(median, mean, margin:, equality: true)
          words = [median, mean].map { |interval| of(interval, margin:, equality:) }
          return words.first if words.uniq.one?
          return :uneven if apart?(median, mean, 1.0 + margin)
          return :cannot_tell unless words.include?(:cannot_tell)
          word, other = words.first == :cannot_tell ? [words.last, median] : [words.first, mean]
          supported?(word, other, margin) ? word : :cannot_tell
        end

        # @return [Boolean] whether more than a factor lies between the intervals
        def apart?(one, other, factor) = one.high * factor < other.low || other.high * factor < one.low

        # Whether an undecided interval agrees with a verdict.
        def supported?(word, interval, margin)
          case word
          when :faster then interval.estimate < 1.0
          when :slower then interval.estimate > 1.0
          else of(interval, margin: margin * WIDE) == :same
          end
        end
        private_class_method :supported?
      end
    end
  end
end
