# frozen_string_literal: true

require "test_helper"
require "active_support/cache/tiercel_store"

# Callers of `fetch` that are killed or timed out between two steps.
class FetchInterruptedTest < Tiercel::TestCase
  class Interrupted < Exception; end # rubocop:disable Lint/InheritException

  def setup = @store = ActiveSupport::Cache::TiercelStore.new("memory:?size=4MB")
  def teardown = @store.close

  def flights = @store.instance_variable_get(:@settings).flights

  # Makes the step raise after it is done, like an interrupt during its return.
  def interrupt(step, object = flights)
    object.define_singleton_method(step) do |*arguments, **options|
      singleton_class.send(:remove_method, step)
      super(*arguments, **options)
      raise Interrupted
    end
  end

  %i[board begin finish].each do |step|
    define_method(:"test_nothing_is_left_of_a_call_that_ends_in_#{step}") do
      interrupt(step)
      assert_raises(Interrupted) { @store.fetch("key") { "made" } }
      assert_equal [0, true], [flights.size, flights.idle?]
      assert_equal "made", @store.fetch("key") { "made" }
    end
  end

  # CRuby checks for interrupts when a method returns, before the caller has the lease. A lease that nobody knows would
  # keep all other callers waiting until it lapses.
  def test_the_lease_of_a_call_that_ends_in_its_take_is_released
    needs_extension "segment"
    interrupt(:take_absent, @store.instance_variable_get(:@settings).leases)
    assert_raises(Interrupted) { @store.fetch("key") { "made" } }
    assert_equal [0, true], [flights.size, flights.idle?]
    answer = @store.backend.segment.lease_take_absent("key", 10.0, "another.", nil)
    assert_equal :taken, answer.first, "not :held"
  end

  # The count of running blocks begins before the lease is acquired.
  def test_a_call_that_waits_for_another_process_counts_as_no_running_block
    needs_extension "segment"
    segment = @store.backend.segment
    segment.lease_take_absent("key", 20.0, "another.", nil)
    waiter = Thread.new { @store.fetch("key") { "made here" } }
    wait_until("a waiting caller") { @store.stats[:lease_waits] == 1 }
    assert_predicate flights, :idle?
    segment.lease_fill_string("key", "another.", "made there", nil, nil)
    assert_equal "made there", waiter.value
    assert_predicate flights, :idle?
  end

  # A follower may have joined before the lease was acquired. It returns the lease's stale value.
  def test_the_beginning_of_a_block_wakes_followers
    flight = Tiercel::Store::Fetch::Flight.new(@store.backend, "key", nil)
    far = Tiercel::Clock.monotonic + 20
    woken = Queue.new
    follower = Thread.new { flight.await([], far, far) { |lease| woken << lease } }
    wait_until("a follower") { flight.instance_variable_get(:@landed) }
    landed = flight.instance_variable_get(:@landed)
    wakes = 0
    landed.define_singleton_method(:broadcast) { super().tap { wakes += 1 } }
    flight.begin(:lease)
    assert_equal [:lease, :left, 1], [woken.pop, follower.value, wakes]
  end

  # The call raises its interruption, although no flight exists yet.
  def test_a_call_that_is_interrupted_before_its_flight_is_there
    key = +"key"
    key.define_singleton_method(:dup) { raise Interrupted }
    assert_raises(Interrupted) { @store.send(:miss_uncontended, "key", key, nil, {}, nil) }
  end

  # An interrupt arrives when a Mutex's method returns, before the code that would unlock the Mutex is active.
  def test_nobody_keeps_the_lock_of_all_flights
    # With placeholders, a write looks for abandoned flights and masks interrupts; a TracePoint ignores the mask.
    needs_extension "segment"
    at = 0
    at += 1 while interrupted_at_return?(at)
    assert_equal 2, at, "calls of a Mutex in a cold fetch"
    assert_equal "made", @store.fetch("last") { "made" }
  end

  # @return [Boolean] whether a cold fetch reached that point
  def interrupted_at_return?(at)
    returned = -1
    tracing = TracePoint.new(:c_return) do |point|
      raise Interrupted if point.self.equal?(Tiercel::Store::Fetch::Flight::LOCK) && (returned += 1) == at
    end
    tracing.enable(target_thread: Thread.current) { @store.fetch("key #{at}") { "made" } }
    false
  rescue Interrupted
    owned = Tiercel::Store::Fetch::Flight::LOCK.owned?
    Tiercel::Store::Fetch::Flight::LOCK.unlock if owned # so that the other tests can lock it
    refute owned, "return #{at}"
    assert_equal [0, true], [flights.size, flights.idle?]
    true
  end

  # A caller that joined then computes the value.
  def test_who_waits_for_a_call_that_ends_in_finish_goes_on
    interrupt(:finish)
    gate, began = Queue.new, Queue.new
    leader = Thread.new do
      assert_raises(Interrupted) { @store.fetch("key") { (began << 1) && gate.pop } }
    end
    began.pop
    flight = flights.instance_variable_get(:@newest).fetch("key")
    follower = Thread.new { flight.await([], Tiercel::Clock.monotonic + 20, Tiercel::Clock.monotonic + 20) }
    wait_until("a follower") { flight.instance_variable_get(:@followers) == 1 }
    gate << "made"
    assert_equal :again, follower.value.kind
    leader.join
  end
end
