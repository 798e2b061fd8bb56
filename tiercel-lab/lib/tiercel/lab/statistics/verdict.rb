# frozen_string_literal: true

module Tiercel
  module Lab
    module Statistics
      # What an interval of ratios (an arm's time by the baseline's) says, given a margin that was fixed before anything
      # was measured: the whole interval has to lie on one side of it. Noise widens the interval, never the margin.
      module Verdict
        ALL = %i[faster slower same cannot_tell].freeze

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
      end
    end
  end
end
