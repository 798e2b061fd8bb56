# frozen_string_literal: true

# suites: kernel

require "test_helper"
require "active_support/cache/tiercel_store"
require "support/fiber_scheduler"

# Fibers that are suspended in the block of a fetch and never resumed.
class AbandonedFibersTest < Tiercel::TestCase
  FIBERS = 50
  # Number of fibers that the stack may still refer to.
  LEFT = 5

  def setup
    super
    @store = Tiercel.new("memory:", lease_ttl: 60)
  end

  def teardown
    @store.close
    super
  end

  def flights = @store.instance_variable_get(:@settings).flights

  def abandon(count)
    count.times { |index| Enumerator.new { |yielder| @store.fetch("key/#{index}") { yielder << 1 } }.next }
    nil
  end

  def collected(count)
    wait_until("the fibers are collected", within: 30) do
      GC.start
      flights.idle?
      flights.size <= count
    end
  end

  def test_dropped_fibers_leave_no_flights_behind
    # A thread's references are gone with it. Some fibers may be collected before the last one begins.
    Thread.new { abandon(FIBERS) }.join
    collected(0)
    assert_predicate flights, :idle?
    abandon(FIBERS)
    collected(LEFT)
    assert_operator flights.size, :<=, LEFT
  end

  def test_who_wants_such_a_key_computes_it_once_and_stores_it
    abandon(FIBERS)
    collected(LEFT)
    runs = Queue.new
    callers = Array.new(4) do
      Thread.new { FIBERS.times.count { |index| @store.fetch("key/#{index}", lease_wait: 5) { runs << 1; "made" } } }
    end
    assert_equal [FIBERS] * 4, callers.map(&:value)
    assert_operator runs.size, :<=, FIBERS + (LEFT * 4)
    assert_operator FIBERS.times.count { |index| @store.read("key/#{index}") == "made" }, :>=, FIBERS - LEFT
  end

  def test_a_caller_who_waits_already_takes_over
    gate = Queue.new
    leading = Thread.new { Fiber.new { @store.fetch("key") { gate << 1; Fiber.yield } }.resume && gate.num_waiting }
    gate.pop
    leading.join
    assert_equal("made", Timeout.timeout(30) { @store.fetch("key") { "made" } })
  end

  # The program suspends the fiber, and no scheduler knows it.
  def test_within_a_scheduler
    values = []
    Thread.new do
      Fiber.set_scheduler(Tiercel::FiberScheduler.new)
      Fiber.schedule { Fiber.new { @store.fetch("key") { Fiber.yield } }.resume }
      Fiber.schedule { values << @store.fetch("key") { "at once" } }
      2.times { Fiber.schedule { values << @store.fetch("shared") { values << "once"; sleep(0.05) && "made" } } }
    end.join(30) or flunk "the fibers have not ended"
    assert_equal ["at once", "made", "made", "once"], values.sort
  end
end
