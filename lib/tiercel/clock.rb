# frozen_string_literal: true

# The only reader of the wall clock. Applications' tests move `Time.now` (travel_to, Timecop), so every expiry is
# computed from this module.
module Tiercel::Clock
  autoload :Patches, "tiercel/clock/patches"

  # @return [Float] epoch seconds
  def self.now = Time.now.to_f

  # Ruby's own method, even if a test freezes the process clock (Timecop's `mock_process_clock`), because waits must
  # still end. A method of this module costs 50 ns; a call of a Method object costs 90 ns.
  singleton_class.define_method(:process_clock, Process.instance_method(:clock_gettime))
  private_class_method :process_clock

  # @return [Float] seconds of the monotonic clock, for budgets and waits
  def self.monotonic = process_clock(Process::CLOCK_MONOTONIC)

  # @param deadline [Float] a time of {monotonic}
  # @return [Float, 0] the seconds left; 0 after the deadline
  def self.seconds_until(deadline) = [deadline - monotonic, 0].max
end
