# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "tiercel/segment"
require_relative "segment_files"

class SegmentProcessesTest < Tiercel::TestCase
  include SegmentFiles

  def setup
    super
    @segment = Tiercel::Segment.open(@path, bytes: 16 << 20, shards: 1)
  end

  def teardown
    @segment.close
    super
  end

  def test_children_register_anew
    pids = fork_and_wait(3) { @segment.set("from #{Process.pid}", "x") && [Process.pid, @segment.pids] }
    pids.each { |pid, registered| assert_includes registered, pid }
    assert_equal 3, @segment.scan("from").count
    wait_until("only this process") { @segment.pids == [Process.pid] }
  end

  def test_counters_of_all_processes_are_added_up
    fork_and_wait(4) { 500.times { @segment.increment("counter", 2, 60) } }
    assert_equal "4000", @segment.get("counter")
    before = @segment.stats[:hits]
    fork_and_wait(2) { 10.times { @segment.get("counter") } }
    assert_equal before + 20, @segment.stats[:hits]
  end

  # The child spends most of its time in the critical section, so it is soon stopped there.
  def test_a_writer_stopped_in_its_critical_section
    value = "x" * (@segment.stats[:log_bytes] / 5)
    @segment.set("mine", "value")
    @segment.set("deleted", "value")
    pid = fork { loop { @segment.set("large", value) } }
    error = wait_until("a writer stopped inside", within: 30) { stopped_inside(pid) }
    assert_match(/lock .* not free within 250 ms/, error.message)
    assert_equal "value", @segment.get("mine")
    assert_equal true, @segment.delete("deleted")
    assert_nil @segment.get("deleted")
    assert_raises(Tiercel::TimedOut) { @segment.set("key", "value") } # at once: the lock has not moved
    other = Thread.new { @segment.get("mine") }
    assert_equal "value", other.value
    Process.kill(:CONT, pid)
    wait_until("the writer to go on") { written? }
    assert_nil @segment.get("deleted")
  ensure
    Process.kill(:KILL, pid)
    Process.wait(pid)
  end

  private

  def stopped_inside(pid)
    Process.kill(:STOP, pid)
    Process.wait(pid, Process::WUNTRACED)
    @segment.set("probe", "x")
    Process.kill(:CONT, pid)
    nil
  rescue Tiercel::TimedOut => error
    error
  end

  def written?
    @segment.set("key", "value")
  rescue Tiercel::TimedOut
    false
  end
end
