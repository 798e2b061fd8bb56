# frozen_string_literal: true

module Tiercel
  module Lab
    module Engine
      # Divides a run's time budget among its comparisons, in proportion to their expected times. On a busy machine
      # every cell then gets fewer blocks, and no cell is missing.
      class Pace
        # @param expected_seconds [Float] expected duration of the whole run in seconds
        # @param budget_seconds [Numeric, nil] nil: no limit
        def initialize(expected_seconds:, budget_seconds:)
          @budget = budget_seconds
          @expected = expected_seconds
          @begun = 0.0
          @started = now
        end

        # Begins a part of the run.
        #
        # @param seconds [Float] its expected time
        # @return [void]
        def begin(seconds) = @begun += seconds

        # @return [Boolean] whether the parts so far have exceeded their share of the budget
        def behind? = @budget ? now - @started > @budget * [@begun / @expected, 1.0].min : false

        # @param seconds [Float] expected time of a part beyond the plan
        # @return [Boolean] whether the budget has room for the part
        def room?(seconds) = @budget ? now - @started + seconds <= @budget * [@begun / @expected, 1.0].min : true

        private

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
