# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "contracts/moved_clock"
require "timeout"

# `fetch` keeps a bounded number of records of running calls and of pending refreshes.
class FetchBoundsTest < Tiercel::TestCase
  Refresh = Tiercel::Fetch::Refresh

  def setup
    super
    @store = Tiercel.new("memory:", lease: true, stale_while_revalidate: 600)
  end

  def teardown
    @store.close
    super
  end

  def test_no_flight_stays_whatever_its_block_did
    ways = [-> { 1 }, -> {}, -> { raise IOError }, -> { throw :out }, -> { Timeout.timeout(0.001) { sleep } }]
    callers = Array.new(10) do
      Thread.new do
        50.times do |index|
          catch(:out) do
            @store.fetch("key/#{index}", skip_nil: true) { ways[index % 5].call }
          rescue IOError, Timeout::Error, UncaughtThrowError
            nil
          end
        end
      end
    end
    callers.each(&:join)
    begin
      names = Array.new(20) { |index| "multi/#{index}" }
      @store.fetch_multi(*names) { |name| name == "multi/7" ? raise(IOError) : name }
    rescue IOError
      nil
    end
    assert_equal 0, @store.stats[:flights]
  end

  def test_as_many_flights_as_callers
    began, finish = Queue.new, Queue.new
    callers = Array.new(10) { |index| Thread.new { @store.fetch("key/#{index % 5}") { began << 1; finish.pop } } }
    5.times { began.pop }
    assert_operator @store.stats[:flights], :<=, 10
  ensure
    callers.size.times { finish << 1 }
    callers.each(&:join)
  end

  # In a busy application some thread is always inside a block. Calls of other keys take no more steps than without it.
  def test_a_running_block_slows_no_other_call
    began, finish = Queue.new, Queue.new
    calls = [-> { @store.write("key", "value") }, -> { @store.delete("key") }, -> { @store.increment("count") },
             -> { @store.read("key") }]
    idle = calls.map { |call| ruby_calls(&call) }
    runner = Thread.new { @store.fetch("other") { began << 1; finish.pop } }
    began.pop
    beside = calls.map { |call| ruby_calls(&call) }
    assert_operator beside.zip(idle).map { |numbers| numbers.reduce(:-) }.max, :<=, 2, "#{idle}, #{beside}"
  ensure
    finish << 1
    runner&.join
  end

  def test_a_full_queue_refreshes_in_the_callers_thread
    count = 1 + Refresh::QUEUED
    count.succ.times { |index| @store.fetch("key/#{index}", expires_in: 60) { "old" } }
    gate = Queue.new
    running = Queue.new
    Tiercel::Contracts::MovedClock.by(61) do
      assert_equal("old", refresh(0) { running << 1; gate.pop; "new" })
      running.pop
      Refresh::QUEUED.times { |index| assert_equal("old", refresh(1 + index) { gate.pop; "new" }) }
      caller = Thread.current
      assert_equal("new", refresh(count) { assert_same(caller, Thread.current) && "new" })
      count.times { gate << 1 }
      wait_until { Array.new(count) { |index| @store.read("key/#{index}") }.uniq == ["new"] }
    end
    assert_operator refresh_threads.size, :<=, 1
    assert_equal count, @store.stats[:background_refreshes]
  end

  def test_after_a_refresh_that_ends_its_thread_the_next_one_runs
    2.times { |index| @store.fetch("key/#{index}", expires_in: 60) { "old" } }
    Tiercel::Contracts::MovedClock.by(61) do
      refresh(0) { Thread.current.kill }
      wait_until { refresh_threads.none? }
      assert_equal("old", refresh(1) { "new" })
      wait_until { @store.read("key/1") == "new" }
      assert_equal "new", @store.read("key/1")
    end
  end

  private

  def refresh(index, &) = @store.fetch("key/#{index}", expires_in: 600, refresh: :background, &)

  def refresh_threads = Thread.list.select { |thread| thread.name == "tiercel refresh" }

  def ruby_calls
    2.times { yield }
    count = 0
    TracePoint.new(:call) { count += 1 }.enable { yield }
    count
  end
end
