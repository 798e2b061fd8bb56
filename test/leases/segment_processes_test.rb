# frozen_string_literal: true
# suites: store

require "test_helper"
require_relative "segment_table"

# Leases in the segment's table with several processes, some of which are stopped or killed.
class LeasesSegmentProcessesTest < Tiercel::TestCase
  include SegmentTable

  def test_a_killed_holder_is_noticed_at_once
    child = in_a_child { take("k", ttl: 600.0) }
    held = take("k")

    refute held.mine?
    Thread.new { Process.kill(:KILL, child) }
    state = nil
    took = seconds { state = @leases.wait(held, monotonic + 300) }

    assert_equal :lapsed, state
    assert_operator took, :<, 60
    again = take("k")

    assert_equal [true, held.lineage], [again.mine?, again.lineage]
  ensure
    Process.wait(child) if child
  end

  def test_a_stopped_holders_lease_lapses_and_the_first_that_finishes_is_stored
    child = in_a_child do |go_on|
      lease = take("k", ttl: 0.3)
      -> { go_on.read(1) && @leases.fill(lease, "first", nil) }
    end
    held = take("k")
    Process.kill(:STOP, child)

    assert_equal :lapsed, @leases.wait(held, monotonic + 60)
    mine = take("k")

    assert_predicate mine, :mine?
    Process.kill(:CONT, child)
    @go_on.write("x")
    Process.wait(child)

    assert_equal "first", @backend.get("k")
    refute @leases.fill(mine, "second", nil)
  end

  # A child's copy of private memory contains the lease, but no thread in the child computes the value.
  def test_a_child_takes_over_what_its_copy_of_private_memory_holds
    backend = Tiercel.new("memory:", size: "1MB").backend
    leases = backend.build_leases(Through.new)
    mine = leases.take(leases.own("k", 600.0, nil)) { flunk }

    taken = fork_and_wait(1) { [leases.take(leases.own("k", 1.0, nil)) { flunk }.mine?, mine.mine?] }
    assert_equal [[true, false]], taken
    assert leases.fill(mine, "value", nil)
  end

  private

  # A child that runs the block and then waits, or runs the lambda that the block returns.
  def in_a_child
    ready, done = IO.pipe
    go_on, @go_on = IO.pipe
    child = fork do
      rest = yield go_on
      done.write("x")
      rest.respond_to?(:call) ? rest.call : sleep
    ensure
      exit!(0)
    end
    ready.read(1)
    child
  end
end
