# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "minitest/mock"
require "support/fetch_places"

# Holders and waiting callers with different or frozen clocks: tests move clocks, and machines differ.
class FetchClocksTest < Tiercel::TestCase
  LEASE_TTL = 0.5
  LEASE_WAIT = 60
  # Much longer than the lease, and much shorter than the wait.
  SOON = 30

  def teardown
    @stores&.each(&:close)
  end

  FetchPlaces::SHARED.each do |place|
    define_method(:"test_#{place}_a_holder_an_hour_ahead_that_was_killed") do
      kill_a_holder(place) { |store, began| travel(3600) { store.fetch("name") { began.call && sleep } } }
      assert_taken_over(build(place))
    end

    define_method(:"test_#{place}_a_waiter_whose_clock_stands_still") do
      kill_a_holder(place) { |store, began| store.fetch("name") { began.call && sleep } }
      store = build(place)
      Time.stub(:now, Time.now) { assert_taken_over(store) }
    end

    define_method(:"test_#{place}_a_waiter_whose_process_clock_stands_still") do
      kill_a_holder(place) { |store, began| store.fetch("name") { began.call && sleep } }
      store = build(place)
      Process.stub(:clock_gettime, Process.clock_gettime(Process::CLOCK_MONOTONIC)) do
        assert_equal "made", store.fetch("name") { "made" }
      end
      assert_equal "made", build(place).read("name")
    end
  end

  private

  def build(place)
    (@stores ||= []) << FetchPlaces.build(place, dir, lease_ttl: LEASE_TTL, lease_wait: LEASE_WAIT)
    @stores.last
  end

  # @yieldparam began [#call] must be called when the block runs
  def kill_a_holder(place)
    build(place).clear
    reader, writer = IO.pipe
    pid = fork { yield build(place), -> { writer.write("!") } }
    writer.close
    assert_equal "!", reader.read(1)
  ensure
    Process.kill(:KILL, pid) && Process.wait(pid) if pid
    reader&.close
  end

  def assert_taken_over(store)
    begun = Tiercel::Clock.monotonic
    assert_equal [nil, nil, "made"], [nil, nil, "made"].map { |value| store.fetch("name", skip_nil: true) { value } }
    assert_operator Tiercel::Clock.monotonic - begun, :<, SOON
  end
end
