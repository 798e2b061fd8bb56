# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/held_by_another"
require "tiercel/backends/sqlite"
require "tmpdir"

# Concurrent writers in several processes, and readers.
class SQLiteQueueTest < Tiercel::TestCase
  def setup
    @directory = Dir.mktmpdir("tiercel-sqlite-queue", File.writable?("/dev/shm") ? "/dev/shm" : nil)
    @path = File.join(@directory, "cache.sqlite3")
    @open = []
  end

  def teardown
    @open.each(&:close)
    FileUtils.rm_rf(@directory)
  end

  # A polling process may starve, so only the first one in the queue polls.
  def test_of_writers_that_wait_one_asks
    build.set("key", "value")
    attempts = while_writing do
      ends_at = Tiercel::Clock.monotonic + 2
      fork_and_wait(5) do
        backend = build(timeout: 10)
        count_attempts(ends_at) { backend.set("key", "new") }
      end
    end
    assert_equal 1, attempts.count { |count| count > 20 }, attempts.inspect
    assert_equal 4, attempts.count { |count| count.between?(1, 3) }, attempts.inspect
  end

  def test_who_is_stopped_at_the_head_of_the_queue_is_passed_by
    build.set("key", "value")
    lock = Tiercel::FileLock.new("#{@path}.lock", 1)
    queue = Tiercel::Backends::SQLite::Queue.new(Tiercel::FileLock.new("#{@path}.lock", 1), 0.2)
    lock.hold do
      before = Tiercel::Clock.monotonic
      first = queue.pass { |give_up_at| give_up_at - before }
      assert_operator first, :>=, 0.2
      lock_asked = false
      queue.instance_variable_get(:@lock).define_singleton_method(:hold) { |*| lock_asked = true }
      assert_equal(:done, queue.pass { :done })
      refute lock_asked, "it does not queue again at once"
    end
  end

  def test_waiting_in_the_queue_ends_with_the_budget_and_lets_other_threads_run
    backend = build(timeout: 0.2)
    backend.set("key", "value")
    while_writing do
      waiting = 3.times.map { Thread.new { backend.set("key", "new") rescue $! } }
      assert_equal(["value".b], 20.times.map { Thread.pass || backend.get("key") }.uniq)
      assert_equal([Tiercel::TimedOut] * 3, waiting.map { |thread| thread.value.class })
    end
    assert_equal true, backend.set("key", "new")
  end

  def test_a_killed_process_leaves_the_queue
    build.set("key", "value")
    while_writing do
      pid = fork { build(timeout: 60).set("key", "new") }
      lock = Tiercel::FileLock.new("#{@path}.lock", 1)
      wait_until("the head of the queue", within: 20) do
        lock.hold(0.0) { false }
      rescue Tiercel::FileLock::Busy
        true
      end
      Process.kill(:KILL, pid)
      Process.wait(pid)
      assert_equal :free, lock.hold { :free }
    end
  end

  def test_eight_processes_count_and_none_gives_up
    build.increment("counter", 0)
    each = long? ? 2_500 : 250
    # The timeout is for a loaded machine; adr/007-sqlite.md has figures of a quiet one with the default of 0.25 s.
    fork_and_wait(8, within: 120) { build(timeout: 20).then { |backend| each.times { backend.increment("counter") } } }
    assert_equal (8 * each).to_s, build.get("counter")
  end

  def test_a_new_process_reads_while_another_writes
    build.tap { |backend| backend.set("key", "value") }.close
    while_writing do
      answers = fork_and_wait(2) do |index|
        backend = build(timeout: 0.05, **(index.zero? ? {} : { max_entries: 10 }))
        [backend.get("key"), backend.get_multi(%w[key other]), backend.scan.to_a, backend.stats[:entries]]
      end
      assert_equal [["value".b, { "key" => "value".b }, ["key".b], 1]] * 2, answers
    end
  end

  def test_a_bound_on_entries_that_could_not_begin_with_the_opening_begins_with_a_write
    build.tap { |backend| 50.times { |index| backend.set("key#{index}", "value") } }.close
    bounded = build(max_entries: 10)
    while_writing { assert_equal "value".b, bounded.get("key1") }
    200.times { |index| bounded.set("new#{index}", "value") }
    assert_operator bounded.scan.count, :<=, 20
  end

  private

  def build(**) = Tiercel::Backends::SQLite.new(@path, **).tap { |backend| @open << backend }

  # @return [Integer] how often SQLite reports a busy file until then
  def count_attempts(ends_at)
    count = 0
    SQLite3::Statement.prepend(Module.new do
      define_method(:step) do
        super()
      rescue SQLite3::BusyException
        count += 1 if Tiercel::Clock.monotonic < ends_at
        raise
      end
    end)
    thread = Thread.new { yield rescue nil }
    sleep(1 + ends_at - Tiercel::Clock.monotonic) # no process leaves the queue before
    thread.kill.join
    count
  end

  # Another process has begun to write and continues during the block.
  def while_writing(&)
    writing = lambda do
      SQLite3::Database.new(@path).tap do |database|
        database.execute("BEGIN IMMEDIATE")
        database.execute("UPDATE entries SET hits = hits")
      end
    end
    HeldByAnother.while(writing, &)
  end
end
