# frozen_string_literal: true

# The only reader of the wall clock. Applications' tests move `Time.now` (travel_to, Timecop), so every expiry is
# computed from this module.
module Tiercel::Clock
  # @return [Float] epoch seconds
  def self.now = Time.now.to_f

  # Returns whether no code of this process will move `Time.now`. C code then reads the machine's clock, at a tenth of
  # the cost. Tests and development consoles move `Time.now` with travel_to, Timecop or a stub.
  #
  # @return [Boolean]
  def self.stays?
    return false if defined?(Minitest) || defined?(RSpec) || defined?(Test::Unit) || defined?(Timecop)
    return false if defined?(Rails.env) && Rails.env && (Rails.env.test? || Rails.env.development?)
    Time.method(:now).source_location&.first.to_s.start_with?("<internal:")
  end

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
