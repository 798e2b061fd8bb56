# frozen_string_literal: true

# suites: kernel

require "test_helper"
require "tiercel/segment"
require "support/locked_shard"
require_relative "record_locks"
require_relative "segment_files"

# A lock whose owners are alive and make progress, and threads that also wait for the GVL.
class SegmentBusyTest < Tiercel::TestCase
  include SegmentFiles

  def setup
    super
    @open = -> { Tiercel::Segment.open(@path, bytes: 4 << 20, shards: 1) }
    @segment = @open.call
  end

  def teardown
    @segment.close
    super
  end

  # Between two polls of the shard's lock, each thread waits longer for the GVL than a call may wait in total.
  def test_time_spent_waiting_for_rubys_lock_does_not_count
    LockedShard.while(@path, @open, moves: true) do |release|
      threads = [thread { @segment.increment("counter") },
                 thread { @segment.lease_take_absent("key", 10, "a lease.", nil) }]
      while_others_compute { release.call }
      assert_equal [1, :begun], threads.map(&:value)
    end
    assert_equal 0, @segment.stats[:lock_timeouts]
  end

  def test_time_spent_waiting_for_rubys_lock_does_not_count_where_a_file_is_made
    skip "[environment] struct flock is another one here" unless RecordLocks.available?
    Tiercel::Segment.remove(@path)
    RecordLocks.held("#{@path}.lock", RecordLocks::MAKING) do |pid|
      waiting = thread { @segment.set("key", "value") }
      while_others_compute { Process.kill(:KILL, pid) }
      assert_equal true, waiting.value
    end
  end

  # Writers that hold the lock most of the time, in processes with computing threads. Nothing is ever stopped. A busy
  # machine may suspend the lock's owner for 250 ms, which loses a few writes.
  def test_no_write_of_many_threads_is_lost
    outcomes = fork_and_wait(3) do
      segment = @open.call
      value = "x" * 200_000
      until_at = monotonic + 2
      Array.new(10) { |index| Thread.new { write_and_compute(segment, "k#{index}", value, until_at) } }.map(&:value)
    end
    writes, failures = outcomes.flatten(1).transpose.map(&:sum)
    assert_operator failures, :<, writes / 500, "of #{writes} writes"
  end

  private

  def thread(&) = Thread.new(&).tap { |thread| thread.report_on_exception = false }

  # Long enough that each of the other threads waits for the GVL more than once.
  def while_others_compute
    busy = Array.new(6) { thread { loop { 100.to_s.hash } } }
    sleep 1.5
    yield
  ensure
    busy.each { |one| one.kill.join }
  end

  # @return [Array(Integer, Integer)] number of writes, and of failed writes
  def write_and_compute(segment, key, value, until_at)
    writes = failures = 0
    while monotonic < until_at
      begin
        writes += 1
        segment.set(key, value)
      rescue Tiercel::TimedOut
        failures += 1
      end
      50.times { |number| number.to_s.hash }
    end
    [writes, failures]
  end

  def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
