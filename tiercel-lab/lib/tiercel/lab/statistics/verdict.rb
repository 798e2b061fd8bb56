# frozen_string_literal: true

module Tiercel
  module Lab
    module Statistics
      # What an interval of ratios (arm's time by baseline's time) says, given
      # a threshold: the whole interval has to lie on one side.
      module Verdict
        ALL = %i[faster slower same cannot_tell].freeze

        module_function

        # @param interval [Interval] of ratios; below 1.0 the arm takes less time
        # @param threshold [Float] 0.02: differences below 2 % are of no interest
        # @param equality [Boolean] whether :same may be said (a quick run is too short to say so)
        # @return [Symbol] one of {ALL}
        def of(interval, threshold:, equality: true)
          above = 1.0 + threshold
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
