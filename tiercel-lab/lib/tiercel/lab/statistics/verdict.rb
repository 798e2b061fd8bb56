# frozen_string_literal: true

module Tiercel
  module Lab
    module Statistics
      # Judges an interval of ratios (an arm's time by the baseline's), given a margin that was fixed before anything
      # was measured: the whole interval has to lie on one side of it. Noise widens the interval, never the margin.
      #
      # A cell has two such intervals: of the median, which is narrow, and of the mean, which counts rare costs too.
      module Verdict
        ALL = %i[faster slower same uneven cannot_tell].freeze
        # "Same" asks that the wider of the two intervals lies within so many margins.
        WIDE = 2

        module_function

        # @param interval [Interval] of ratios; below 1.0 the arm takes less time
        # @param margin [Float] 0.02: from 1 / 1.02 to 1.02 is the same, so that who is the baseline does not matter
        # @param equality [Boolean] whether :same may be said (a quick run is too short to say so)
        # @return [Symbol] one of {ALL}
        def of(interval, margin:, equality: true)
          above = 1.0 + margin
          below = 1.0 / above
          return :faster if interval.high < below
          return :slower if interval.low > above
          return :same if equality && interval.low >= below && interval.high <= above
          :cannot_tell
        end

        # The verdict by median and mean. Where both are decided and differ, more processes are needed; where the mean
        # is apart from the median by more than the margin and they do not say the same, few blocks cost much.
        #
        # @param median [Interval] of ratios
        # @param mean [Interval] of ratios
        # @return [Symbol] one of {ALL}
        def by_both(median, mean, margin:, equality: true)
          words = [median, mean].map { |interval| of(interval, margin:, equality:) }
          return words.first if words.uniq.one?
          return :uneven if apart?(median, mean, 1.0 + margin)
          return :cannot_tell unless words.include?(:cannot_tell)
          word, other = words.first == :cannot_tell ? [words.last, median] : [words.first, mean]
          supported?(word, other, margin) ? word : :cannot_tell
        end

        # @return [Boolean] whether the intervals are apart by more than a factor
        def apart?(one, other, factor) = one.high * factor < other.low || other.high * factor < one.low

        # Whether the interval that decides nothing speaks for a word.
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
