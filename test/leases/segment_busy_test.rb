# frozen_string_literal: true

# suites: kernel

require "test_helper"
require "support/held_by_another"
require "support/locked_shard"
require_relative "segment_table"

# A lease whose holder can no longer acquire the lock of its shard: no caller waits for it until it lapses.
class LeasesSegmentBusyTest < Tiercel::TestCase
  include SegmentTable

  def test_a_release_ends_the_lineage_without_the_lock
    mine = take("k")
    waiting = waiter("k")
    while_locked { @leases.release(mine) }
    assert_equal :gone, waiting.value
    assert_predicate take("k"), :mine?
  end

  def test_a_fill_ends_the_lineage_without_the_lock
    mine = take("k")
    waiting = waiter("k")
    while_locked do
      assert_raises(Tiercel::TimedOut) { @leases.fill(mine, "value", nil) }
      @leases.release(mine)
    end
    assert_equal :gone, waiting.value
    assert_predicate take("k"), :mine?
  end

  def test_a_string_that_cannot_be_filled_ends_the_lineage_too
    mine = take("k")
    segment = @backend.segment
    while_locked do
      assert_raises(Tiercel::TimedOut) { segment.lease_fill_string("k", mine.lineage, "string", nil, nil) }
    end
    assert_predicate take("k"), :mine?
  end

  # Any interruption (Timeout, Thread#kill) of a call that waits for the lock.
  def test_a_release_that_is_interrupted
    mine = take("k")
    while_locked do
      releasing = Thread.new { @leases.release(mine) }
      wait_until("a release that waits") { releasing.stop? }
      releasing.kill.join
    end
    assert_predicate take("k"), :mine?
  end

  # The lease lapsed, and another process continues the lineage.
  def test_the_lease_of_a_successor_stands
    mine = take("k", ttl: 0)
    heir = HeldByAnother.while(-> { take("k") }) do
      while_locked { @leases.release(mine) }
      take("k")
    end
    refute_predicate heir, :mine?
  end

  private

  # 4 MB, hence one shard.
  def while_locked(&)
    path = @backend.segment.path
    LockedShard.while(path, -> { Tiercel::Segment.open_existing(path) }) { yield }
  end

  def waiter(key)
    lease = take(key)
    Thread.new { @leases.wait(lease, monotonic + 8) }.tap { |thread| wait_until("a waiter") { thread.stop? } }
  end
end
