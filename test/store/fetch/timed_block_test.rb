# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"

# Blocks of `timeout:` in their own threads: their number, nesting, and forks.
class TimedBlockTest < Tiercel::TestCase
  TimedBlock = Tiercel::Store::Fetch::TimedBlock
  PATIENCE = 20

  def setup
    super
    @store = Tiercel.new("memory:", lease: true)
  end

  def teardown
    @store.close
    super
  end

  def test_there_are_no_more_than_so_many_and_who_finds_none_leaves_in_time
    while_all_are_taken do
      assert_equal TimedBlock::MOST, TimedBlock.running
      assert_raises(Tiercel::FetchTimeout) { @store.fetch("one more", timeout: 0.05) { flunk "it has no thread" } }
      assert_equal("other", @store.fetch("one more") { "other" }, "its lease is given back")
    end
    assert_equal("made", @store.fetch("after", timeout: PATIENCE) { "made" })
  end

  def test_within_such_a_block_none_waits_for_a_thread
    nested = while_all_are_taken do |inside|
      inside.call { @store.fetch("inner", timeout: { soft: 0.05, hard: PATIENCE }) { Thread.current.object_id } }
    end
    assert_equal nested[:thread], nested[:value]
  end

  def test_a_cycle_through_such_blocks_ends
    value = @store.fetch("a", timeout: PATIENCE) do
      @store.fetch("b", timeout: PATIENCE) { @store.fetch("a", timeout: PATIENCE) { "inner" } }
    end
    assert_equal "inner", value
  end

  def test_a_child_has_none_of_them
    finish = Queue.new
    assert_raises(Tiercel::FetchTimeout) { @store.fetch("slow", timeout: 0.05) { finish.pop; "made" } }
    assert_equal "0 made", in_child { "#{TimedBlock.running} #{@store.fetch("child", timeout: PATIENCE) { "made" }}" }
    assert_equal 1, TimedBlock.running
  ensure
    finish << 1
    ends_behind
  end

  def test_what_ends_the_thread_ends_the_wait
    assert_raises(ThreadError) { @store.fetch("killed", timeout: PATIENCE) { Thread.current.kill } }
    assert_equal("made", @store.fetch("killed", timeout: PATIENCE) { "made" })
    assert_raises(LocalJumpError) { @store.fetch("left", timeout: PATIENCE) { break 1 } }
    assert_raises(UncaughtThrowError) { catch(:out) { @store.fetch("thrown", timeout: PATIENCE) { throw :out } } }
  end

  def test_an_error_that_nobody_waits_for_is_reported
    finish = Queue.new
    errors = reported do
      assert_raises(Tiercel::FetchTimeout) { @store.fetch("late", timeout: 0.05) { finish.pop; raise IOError, "late" } }
      finish << 1
      ends_behind
    end
    assert_equal ["late"], errors.map(&:message)
  end

  def test_a_caller_that_is_interrupted_leaves_the_block_to_its_end
    began, finish = Queue.new, Queue.new
    caller = Thread.new { @store.fetch("slow", timeout: PATIENCE) { began << 1; finish.pop; "made" } }
    began.pop
    caller.kill.join
    finish << 1
    ends_behind
    assert_equal "made", @store.read("slow")
  end

  def test_inside_a_transaction_the_block_runs_in_the_callers_thread
    within_a_transaction do
      assert_same(Thread.current, @store.fetch("row", timeout: 0.01, skip_nil: true) { break Thread.current })
    end
  end

  private

  # Yields a lambda that runs a block in one of these threads and returns its thread and value.
  def while_all_are_taken
    began, tasks = Queue.new, Queue.new
    callers = Array.new(TimedBlock::MOST) do |index|
      Thread.new do
        @store.fetch("busy/#{index}", timeout: PATIENCE) { began << 1; tasks.pop&.call; nil }
      end
    end
    TimedBlock::MOST.times { began.pop }
    answers = Queue.new
    yield(lambda do |&work|
      tasks << -> { answers << { thread: Thread.current.object_id, value: work.call } }
      answers.pop(timeout: PATIENCE)
    end)
  ensure
    tasks.close
    callers.each(&:join)
    ends_behind
  end

  def ends_behind
    ends = Tiercel::Clock.monotonic + PATIENCE
    sleep 0.005 until TimedBlock.running.zero? || Tiercel::Clock.monotonic > ends
    assert_equal 0, TimedBlock.running
  end

  def in_child
    reader, writer = IO.pipe
    pid = fork do
      writer.write(yield)
    rescue Exception => error # rubocop:disable Lint/RescueException
      writer.write(error.full_message)
    ensure
      writer.close
      exit!(0)
    end
    writer.close
    reader.read
  ensure
    Process.wait(pid)
    reader.close
  end

  def reported
    errors = []
    subscriber = Object.new
    subscriber.define_singleton_method(:report) { |error, **| errors << error }
    ActiveSupport.error_reporter.subscribe(subscriber)
    yield
    errors
  ensure
    ActiveSupport.error_reporter.unsubscribe(subscriber)
  end

  def within_a_transaction
    skip "Active Record is here" if defined?(ActiveRecord)
    begin
      Object.const_set(:ActiveRecord, Module.new { def self.all_open_transactions = [1] })
      ActiveRecord.autoload(:Base, "none")
      yield
    ensure
      Object.send(:remove_const, :ActiveRecord)
    end
  end
end
