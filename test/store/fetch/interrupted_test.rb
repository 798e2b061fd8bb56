# frozen_string_literal: true

require "test_helper"
require "active_support/cache/tiercel_store"

# Callers of `fetch` that are killed, or timed out, between two steps of it.
class FetchInterruptedTest < Tiercel::TestCase
  class Interrupted < Exception; end # rubocop:disable Lint/InheritException

  def setup = @store = ActiveSupport::Cache::TiercelStore.new("memory:?size=4MB")
  def teardown = @store.close

  def flights = @store.instance_variable_get(:@settings).flights

  # Has the step raise once it is done, as an interrupt that comes on its way back does.
  def interrupt(step)
    flights.define_singleton_method(step) do |*arguments, **options|
      singleton_class.send(:remove_method, step)
      super(*arguments, **options)
      raise Interrupted
    end
  end

  %i[lead begin finish].each do |step|
    define_method(:"test_nothing_is_left_of_a_call_that_ends_in_#{step}") do
      interrupt(step)
      assert_raises(Interrupted) { @store.fetch("key") { "made" } }
      assert_equal [0, true], [flights.size, flights.idle?]
      assert_equal "made", @store.fetch("key") { "made" }
    end
  end

  # Whoever has come along computes it then.
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
