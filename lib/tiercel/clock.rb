# frozen_string_literal: true

module Tiercel
  # The only reader of the wall clock. Applications' tests move `Time.now` (travel_to, Timecop), so every expiry is
  # computed from this module.
  module Clock
    # @return [Float] epoch seconds
    def self.now = Time.now.to_f

    # Ruby's own method, even if a test freezes the process clock (Timecop's `mock_process_clock`): waits must still
    # end.
    PROCESS_CLOCK = Process.method(:clock_gettime)
    private_constant :PROCESS_CLOCK

    # @return [Float] seconds of the monotonic clock, for budgets and waits
    def self.monotonic = PROCESS_CLOCK.call(Process::CLOCK_MONOTONIC)

    @original = false

    # Records whether `Time.now` is Ruby's own method; {Patches} reports it, if it is loaded.
    #
    # @private
    def self.original=(original)
      @original = original
    end

    # @return [Integer] epoch seconds, as {now}; less than half as expensive while `Time.now` is Ruby's own method
    def self.seconds
      @original ? PROCESS_CLOCK.call(Process::CLOCK_REALTIME, :second) : now.to_i
    end

    # @param deadline [Float] a time of {monotonic}
    # @return [Float, 0] the seconds left; 0 after the deadline
    def self.seconds_until(deadline) = [deadline - monotonic, 0].max
  end
end
