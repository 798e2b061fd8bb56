# frozen_string_literal: true

# suites: kernel

require "test_helper"
require "timeout"
require "tiercel/segment"
require_relative "record_locks"
require_relative "segment_files"

# A process is stopped while it holds a resource that others need: they wait within their limits, and other threads
# run.
class SegmentWaitingTest < Tiercel::TestCase
  include SegmentFiles

  def setup
    super
    skip "[environment] struct flock is another one here" unless RecordLocks.available?
  end

  def teardown
    @segment&.close
    super
  end

  def test_opening_lets_other_threads_run_and_obeys_timeout
    RecordLocks.held("#{@path}.lock", RecordLocks::MAKING, stopped: true) do
      took = seconds do
        with_ticks { assert_raises(Timeout::Error) { Timeout.timeout(0.4) { open } } }
      end
      assert_operator took, :<, 20
    end
    assert_equal true, open.set("key", "value")
  end

  def test_a_call_that_needs_a_new_file_waits_once_and_250_ms
    open.set("key", "value")
    RecordLocks.held("#{@path}.lock", RecordLocks::MAKING, stopped: true) do |pid|
      File.unlink(@path)
      wait_until("the file to be missed") { refused? }
      took = seconds { 200.times { assert_predicate self, :refused? } }
      assert_operator took, :<, 40, "each call waited again"
      assert_match(/locked by another process/,
                   assert_raises(Tiercel::Unavailable) { @segment.get("key") }.message)
      Process.kill(:KILL, pid)
      wait_until("the segment") { !refused? }
    end
    assert_equal true, @segment.set("key", "value")
  end

  def test_commands_wait_too
    open.close
    RecordLocks.held("#{@path}.lock", RecordLocks::MAKING, stopped: true) do
      [-> { Tiercel::Segment.replace(@path, bytes: 1 << 20) }, -> { Tiercel::Segment.remove(@path) }].each do |command|
        took = seconds { with_ticks { assert_raises(Timeout::Error) { Timeout.timeout(0.4) { command.call } } } }
        assert_operator took, :<, 20
      end
      # A boot does not wait for the segments of other layouts.
      assert_operator seconds { assert_equal false, Tiercel::Segment.remove(@path, only_unused: true) }, :<, 20
    end
  end

  # A shard's writer is stopped, and some entries cannot be verified. The entries look as if the writer were still
  # moving them.
  def test_scans_and_clears_of_a_stopped_writers_shard_wait_once_and_let_others_run
    open
    [-> { @segment.scan("app:").to_a }, -> { @segment.clear_prefix("app:") }].each do |sweep|
      with_stopped_writer do
        with_ticks { sweep.call }
        assert_operator seconds { 200.times { sweep.call } }, :<, 40, "each call waited again"
        assert_nil @segment.get("app:1")
      end
    end
  end

  def test_a_sweep_that_waits_obeys_timeout
    open
    wait_until("a sweep that waits for longer than its caller") do
      with_stopped_writer { Timeout.timeout(0.05) { @segment.scan("app:").to_a } && nil }
    rescue Timeout::Error
      true
    end
    with_stopped_writer do
      thread = Thread.new { @segment.clear_prefix("app:") }
      thread.report_on_exception = false
      thread.join(0.01)
      thread.kill.join
    end
    assert_equal true, @segment.set("app:1", "value")
  end

  # Closing the last handle must not unmap the memory while a write waits for a lock in it.
  def test_closing_what_another_thread_waits_in
    open
    with_stopped_writer do
      waiting = Thread.new { @segment.set("key", "value") }
      waiting.report_on_exception = false
      wait_until("a thread that waits") { waiting.stop? }
      @segment.close
      assert_raises(Tiercel::TimedOut) { waiting.value }
    end
  end

  private

  def open
    @segment = Tiercel::Segment.open(@path, bytes: 2 << 20, shards: 1)
  end

  # Fails unless another thread runs during the block.
  def with_ticks
    ticks = 0
    ticker = Thread.new { loop { (ticks += 1) && sleep(0.005) } }
    yield.tap { assert_operator ticks, :>=, 1, "other threads were held up" }
  ensure
    ticker.kill.join
  end

  def refused?
    @segment.get("key")
    false
  rescue Tiercel::Unavailable
    true
  end

  def with_stopped_writer
    8.times { |index| @segment.set("app:#{index}", "value #{index}") }
    value = "x" * (@segment.stats[:log_bytes] / 5)
    pid = fork { loop { @segment.set("large", value) } }
    wait_until("a writer stopped inside", within: 30) { stopped_inside?(pid) }
    8.times { |index| make_unverifiable("app:#{index}") }
    yield
  ensure
    Process.kill(:KILL, pid)
    Process.wait(pid)
  end

  # Whether the stopped process holds the lock. A forked process tries to write, because the write may time out, and a
  # timeout in this process would change its later waits.
  def stopped_inside?(pid)
    Process.kill(:STOP, pid)
    Process.wait(pid, Process::WUNTRACED)
    probe = fork do
      @segment.set("probe", "x")
      exit!(1)
    rescue Tiercel::TimedOut
      exit!(0)
    end
    Process.wait(probe)
    inside = $?.success?
    Process.kill(:CONT, pid) unless inside
    inside
  end

  # Its header, five words before its key, claims an allocation of zero bytes.
  def make_unverifiable(key)
    File.open(@path, "r+b") do |file|
      at = file.read.rindex(key)
      file.pwrite("\0" * 8, at - 40) if at
    end
  end
end
