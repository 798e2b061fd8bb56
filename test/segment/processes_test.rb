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

  def test_a_daemon_registers_too
    reader, writer = IO.pipe
    Process.wait(fork do
      Process.daemon(true, true)
      writer.write([@segment.set("daemon", "x"), @segment.pids.include?(Process.pid)].inspect)
      exit!(0)
    end)
    writer.close
    assert_equal "[true, true]", reader.read
    assert_equal "x", @segment.get("daemon")
  end

  def test_counters_of_all_processes_are_added_up
    fork_and_wait(4) { 500.times { @segment.increment("counter", 2, 60) } }
    assert_equal "4000", @segment.get("counter")
    before = @segment.stats[:hits]
    fork_and_wait(2) { 10.times { @segment.get("counter") } }
    assert_equal before + 20, @segment.stats[:hits]
  end

  def test_values_are_whole_and_their_own_while_others_write
    rounds = long? ? 200_000 : 8_000
    checked = fork_and_wait(4, within: long? ? 600 : 60) do |index|
      rounds.times.count do |round|
        key = "key#{(round * 7) % 50}"
        if round % 3 == index % 3
          fill = (round % 26 + 97).chr
          @segment.write_string(key, "#{key}:#{fill * (round * 37 % 3_000)}", nil, nil)
        end
        value = @segment.read(key) or next
        owner, rest = value.split(":", 2)
        raise "foreign or torn" unless owner == key && rest.squeeze.size <= 1
        true
      end
    end
    assert_operator checked.sum, :>, rounds
  end

  def test_writers_that_are_killed_leave_nothing_behind
    kills = long? ? 200 : 15
    kills.times do |kill|
      pid = fork { loop { |n = 0| 20.times { |i| @segment.set("key#{i}", "#{i}:" + "v" * rand(100_000)) } } }
      sleep(0.002 * (1 + kill % 10))
      Process.kill(:KILL, pid)
      Process.wait(pid)
      20.times do |i|
        value = @segment.get("key#{i}") or next
        assert_match(/\A#{i}:v*\z/, value)
      end
      assert_equal true, @segment.set("after", "x")
    end
    assert_equal 0, @segment.stats[:resets]
  end

  # The child spends most of its time in the critical section, so it is soon stopped there.
  def test_a_writer_stopped_in_its_critical_section
    value = "x" * (@segment.largest_value_bytes - 100)
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

  def test_a_stopped_writer_that_is_killed_is_taken_over
    value = "x" * (@segment.largest_value_bytes - 100)
    pid = fork { loop { @segment.set("large", value) } }
    wait_until("a writer stopped inside", within: 30) { stopped_inside(pid) }
    Process.kill(:KILL, pid)
    Process.wait(pid)
    assert_equal true, @segment.set("key", "value")
    assert_equal 1, @segment.stats[:lock_takeovers]
    assert_includes [nil, value], @segment.get("large")
    assert_equal true, @segment.set("large", value)
  end

  def test_waiting_lets_other_threads_run_and_can_be_interrupted
    value = "x" * (@segment.largest_value_bytes - 100)
    pid = fork { loop { @segment.set("large", value) } }
    wait_until("a writer stopped inside", within: 30) { stopped_inside(pid) }
    child = fork do # while the lock word has not timed out yet
      ticks = 0
      ticker = Thread.new { loop { ticks += 1; sleep 0.001 } }
      waiter = Thread.new { @segment.set("key", "value") }
      waiter.report_on_exception = false
      sleep 0.05
      waiter.kill.join
      ticker.kill
      exit!(ticks > 3 && waiter.status == false ? 0 : 1)
    end
    Process.wait(child)
    assert_predicate $?, :success?
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
