# frozen_string_literal: true

module Tiercel
  # The one place that reads the wall clock. Tests of applications move
  # `Time.now` (travel_to, Timecop), so everything that expires asks here.
  module Clock
    # @return [Float] epoch seconds
    def self.now = Time.now.to_f

    # @return [Float] seconds of a clock that only moves forward, for budgets and waits
    def self.monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
