# frozen_string_literal: true

module Tiercel
  # The one place that reads the wall clock. Tests of applications move
  # `Time.now` (travel_to, Timecop), so everything that expires asks here.
  module Clock
    # @return [Float] epoch seconds
    def self.now = Time.now.to_f

    # Ruby's own, also where a test stops the clock of the process (Timecop's `mock_process_clock`): a wait has to end.
    PROCESS_CLOCK = Process.method(:clock_gettime)
    private_constant :PROCESS_CLOCK

    # @return [Float] seconds of a clock that only moves forward, for budgets and waits
    def self.monotonic = PROCESS_CLOCK.call(Process::CLOCK_MONOTONIC)

    @original = false

    # Whether `Time.now` is Ruby's own, as {Patches} says where it is loaded.
    #
    # @private
    def self.original=(original)
      @original = original
    end

    # @return [Integer] epoch seconds, as {now}; for less than half of its cost while `Time.now` is Ruby's own
    def self.seconds
      @original ? PROCESS_CLOCK.call(Process::CLOCK_REALTIME, :second) : now.to_i
    end

    # @param deadline [Float] of {monotonic}
    # @return [Float, 0] seconds; 0 past it
    def self.seconds_until(deadline) = [deadline - monotonic, 0].max
  end
end
