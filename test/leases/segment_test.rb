# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/fiber_scheduler"
require_relative "segment_table"

# Leases in the segment's table with threads and fibers.
class LeasesSegmentTest < Tiercel::TestCase
  include SegmentTable

  Present = Tiercel::Leases::Present

  def test_a_holder_and_those_who_meet_him
    mine = take("k", version: "1")
    same, other = %w[1 2].map { |version| take("k", version:) }

    assert_equal [mine.lineage, mine.holder, "1"], [same.lineage, same.holder, same.version]
    refute_includes [nil, "1", "2"], other.version
    assert_in_delta mine.lapses_at, same.lapses_at, 1
    assert @leases.fill(mine, "value", nil)
    assert_equal Present.new("value"), @leases.acquire(@leases.own("k", 10.0, nil)) { :current }
    refute @leases.fill(same, "late", nil)
  end

  # Without building the frame in Ruby; a String without a frame type is left to the caller, which keeps its lease.
  def test_a_string_is_filled_as_its_frame
    coder = Tiercel::Coder.new(checksum: false)
    [["text", nil], ["bytes".b, 2e9], ["ascii".encode("US-ASCII"), 3e9], ["", nil]].each do |string, ends|
      assert @leases.fill_string(take("k"), string, ends, ends && (ends - Time.now.to_f))
      assert_equal coder.dump_value(string, ends, nil, false), @backend.get("k")
      assert_equal [string, string.encoding], coder.load_value(@backend.get("k")).then { |read| [read, read.encoding] }
      @backend.delete("k")
    end
    mine = take("k")

    assert_nil @leases.fill_string(mine, "latin".encode("ISO-8859-1"), nil, nil)
    assert_nil @leases.fill_string(mine, (+"own").tap { |string| string.instance_variable_set(:@a, 1) }, nil, nil)
    assert @leases.fill(mine, "value", nil)
  end

  def test_a_string_that_cannot_be_filled
    mine = take("k")
    @backend.set("k", "another")

    assert_equal [false, "another"], [@leases.fill_string(mine, "late", nil, nil), @backend.get("k")]
    assert_equal :too_large, @leases.fill_string(take("large"), "x" * (3 << 20), nil, nil)
  end

  def test_the_stale_value_is_the_entry_itself
    @backend.set("k", "stale")
    mine = @leases.acquire(@leases.own("k", 10.0, nil)) { |bytes| bytes }

    assert_equal ["stale", "stale", "stale"], [mine.stale, take("k").stale, @backend.get("k")]
    @leases.release(mine)
    longer = @leases.acquire(@leases.own("k", 10.0, nil)) { "for longer" }

    assert_equal [mine.lineage, "for longer", "for longer"], [longer.lineage, longer.stale, @backend.get("k")]
    travel(100) { assert_equal "for longer", @backend.get("k"), "ten times as long as the lease" }
    @leases.release(longer)

    assert_nil @leases.acquire(@leases.own("k", 10.0, nil)) { nil }.stale
    assert_nil @backend.get("k")
  end

  def test_waiters_are_told_at_once_what_happened
    { filled: ->(mine) { @leases.fill(mine, "value", nil) }, released: ->(mine) { @leases.release(mine) },
      paused: ->(mine) { @leases.release(mine, pause: 5.0) }, gone: ->(mine) { @backend.delete(mine.key) },
      cleared: ->(_) { @backend.clear }, matched: ->(_) { @backend.end_leases },
      namespace: ->(_) { @backend.segment.clear_prefix("app:") },
      written: ->(mine) { @backend.set(mine.key, "value") } }.each do |what, change|
      mine = take("k")
      waiters = Array.new(10) { Thread.new { @leases.wait(take("k"), monotonic + 60) } }
      wait_until("ten wait") { waiters.count { |thread| thread.status == "sleep" } == 10 }
      took = seconds { [change.call(mine), waiters.each(&:join)] }
      expected = { filled: Present.new("value"), written: Present.new("value"), released: :released, paused: :released }

      assert_equal [expected.fetch(what, :gone)], waiters.map(&:value).uniq, what
      assert_operator took, :<, 30, what
      @backend.clear
    end
  end

  def test_a_wait_ends_at_its_deadline_and_at_the_leases_end_and_when_it_is_interrupted
    take("k")
    held = take("k")

    assert_equal :deadline, @leases.wait(held, monotonic + 0.02)
    waiter = Thread.new { @leases.wait(held, monotonic + 60) }
    wait_until { waiter.status == "sleep" }
    waiter.kill

    assert waiter.join(30), "a killed thread goes on waiting"
    take("short", ttl: 0.05)

    assert_equal :lapsed, @leases.wait(take("short"), monotonic + 60)
    assert @leases.lapsed?(take("short", ttl: 0.0))
  end

  def test_no_thread_of_a_fiber_scheduler_is_blocked
    mine = take("k")
    order = []
    Thread.new do
      Fiber.set_scheduler(Tiercel::FiberScheduler.new)
      Fiber.schedule { order << @leases.wait(take("k"), monotonic + 60) }
      Fiber.schedule do
        order << :other_fiber
        @leases.fill(mine, "value", nil)
      end
    end.join(50)

    assert_equal [:other_fiber, Present.new("value")], order
  end

  def test_what_is_resized_meanwhile_lets_waiters_go
    take("k")
    held = take("k")
    waiter = Thread.new { @leases.wait(held, monotonic + 60) }
    wait_until { waiter.status == "sleep" }
    Tiercel::Segment.replace("#{dir}/s", bytes: 2 << 20)

    assert waiter.join(30)
    assert_equal :gone, waiter.value
  end
end
