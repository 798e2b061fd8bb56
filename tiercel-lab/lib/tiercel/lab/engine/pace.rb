# frozen_string_literal: true

module Tiercel
  module Lab
    module Engine
      # Divides a run's budget among its comparisons in proportion to what the
      # plan expects of them, so that a run on a busy machine ends in time with
      # fewer blocks everywhere, rather than with some cells missing.
      class Pace
        # @param expected_seconds [Float] of the whole run, by the plan
        # @param budget_seconds [Numeric, nil] nil: there is none
        def initialize(expected_seconds:, budget_seconds:)
          @budget = budget_seconds
          @expected = expected_seconds
          @begun = 0.0
          @started = now
        end

        # A part of the run begins.
        #
        # @param seconds [Float] of it, by the plan
        # @return [void]
        def begin(seconds) = @begun += seconds

        # @return [Boolean] whether the parts begun have used up their share of the budget
        def behind? = @budget ? now - @started > @budget * [@begun / @expected, 1.0].min : false

        # @param seconds [Float] of more than was planned
        # @return [Boolean] whether the parts begun have left room for it
        def room?(seconds) = @budget ? now - @started + seconds <= @budget * [@begun / @expected, 1.0].min : true

        private

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
