# frozen_string_literal: true
# suites: store
# quick

require "test_helper"
require "active_support/cache/tiercel_store"
require "timeout"

# Callers of `fetch` that are killed or timed out between two steps.
class FetchInterruptedTest < Tiercel::TestCase
  class Interrupted < Exception; end # rubocop:disable Lint/InheritException

  def setup = @store = ActiveSupport::Cache::TiercelStore.new("memory:?size=4MB")
  def teardown = @store.close

  def fetch = @store.instance_variable_get(:@settings).fetch
  def flights = fetch.instance_variable_get(:@flights)

  # Makes the step raise after it is done, like an interrupt during its return.
  def interrupt(step, object)
    object.define_singleton_method(step) do |*arguments, **options, &block|
      singleton_class.send(:remove_method, step)
      super(*arguments, **options, &block)
      raise Interrupted
    end
  end

  { register: :flights, close: :flights, acquire: :leases, fill_string: :leases }.each do |step, of|
    define_method(:"test_nothing_is_left_of_a_call_that_ends_in_#{step}") do
      interrupt(step, of == :flights ? flights : fetch.leases)
      assert_raises(Interrupted) { @store.fetch("key") { "made" } }
      assert_equal [0, false], [@store.stats[:flights], Tiercel::Runtime.current.inside_block?]
      Timeout.timeout(30) { assert_equal "made", @store.fetch("key") { "made" } }
      assert_equal 0, @store.stats[:lease_waits]
    end
  end

  # An interrupt arrives when a Mutex's method returns, before the code that would unlock the Mutex is active.
  def test_nobody_keeps_the_lock_of_all_flights
    at = 0
    at += 1 while interrupted_at_return?(at)
    assert_equal 2, at, "calls of a Mutex in a cold fetch"
    assert_equal "made", @store.fetch("last") { "made" }
  end

  def test_a_caller_of_another_process_that_is_waited_for
    segment = @store.backend.segment
    segment.lease_acquire("key", 20.0, "another.", "another.", nil, nil, nil, nil)
    waiter = Thread.new { @store.fetch("key") { "made here" } }
    wait_until("a waiting caller") { @store.stats[:lease_waits] == 1 }
    segment.lease_fill("key", "another.", "made there", nil, nil)
    assert_equal ["made there", 0], [waiter.value, @store.stats[:flights]]
  end

  private

  # @return [Boolean] whether a cold fetch reached that point
  def interrupted_at_return?(at)
    returned = -1
    lock = Tiercel::Runtime.current.flights_lock
    tracing = TracePoint.new(:c_return) do |point|
      raise Interrupted if point.self.equal?(lock) && (returned += 1) == at
    end
    tracing.enable(target_thread: Thread.current) { @store.fetch("key #{at}") { "made" } }
    false
  rescue Interrupted
    owned = lock.owned?
    lock.unlock if owned # so that the other tests can lock it
    refute owned, "return #{at}"
    assert_equal 0, @store.stats[:flights]
    true
  end
end
