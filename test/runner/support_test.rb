# frozen_string_literal: true

require "test_helper"

# Tests of the test support code.
class SupportTest < Tiercel::TestCase
  # A test class that Minitest does not run by itself.
  def self.silent(&body)
    Class.new(Tiercel::TestCase, &body).tap { |test| Minitest::Runnable.runnables.delete(test) }
  end

  Samples = silent do
    def test_without_an_assertion = nil
    def test_with_one = assert(true)
    def test_skipped = skip("why")
    def test_failing = raise("broken")
  end

  def run_sample(name) = Samples.new(name).run

  def test_a_test_without_an_assertion_fails
    result = run_sample(:test_without_an_assertion)
    refute_predicate result, :passed?
    assert_match(/no assertion was made/, result.failure.message)
    assert_predicate run_sample(:test_with_one), :passed?
    assert_predicate run_sample(:test_skipped), :skipped?
    assert_equal 1, run_sample(:test_failing).failures.size
  end

  def test_a_warning_of_our_own_raises
    root = StrictWarnings::ROOT
    ["#{root}/lib/tiercel.rb:1: warning: unused", "#{root}/tiercel-lab/lib/a.rb:3: warning: unused",
     "test/a_test.rb:1: warning: unused", "#{root}/test/a_test.rb:1: warning: unused"].each do |message|
      assert_raises(StrictWarnings::Error, message) { Warning.warn("#{message}\n") }
    end
  end

  def test_travel_moves_the_clock_and_brings_it_back
    before = Process.clock_gettime(Process::CLOCK_REALTIME)
    travel(100) do
      assert_in_delta before + 100, Time.now.to_f, 50
      travel(-300) { assert_in_delta before - 200, Time.now.to_f, 50 }
      assert_in_delta before + 100, Time.now(in: "+09:00").to_f, 50
    end
    assert_in_delta before, Time.now.to_f, 50
    assert_raises(RuntimeError) { travel(100) { raise "out" } }
    assert_in_delta before, Time.now.to_f, 50
    refute MovedClock.method_defined?(:now, false)
  end

  def test_fork_and_wait_gives_the_values_of_the_children
    pids = fork_and_wait(3) { |index| [index, Process.pid] }
    assert_equal [0, 1, 2], pids.map(&:first)
    refute_includes pids.map(&:last), Process.pid
    assert_equal [nil], fork_and_wait(1) { proc { nil } }
    assert_equal 200_000, fork_and_wait(1) { "x" * 200_000 }.first.size
  end

  def failure_of(**options, &block)
    assert_raises(Minitest::Assertion) { fork_and_wait(2, **options, &block) }.message
  end

  def test_fork_and_wait_fails_with_what_a_child_failed_with
    assert_match(/child 1: .*broken there/m, failure_of { |index| raise "broken there" if index == 1 })
    assert_match(/Expected: 1/, failure_of { assert_equal 1, 2 })
    assert_match(/without an answer.*SIGKILL/m, failure_of { Process.kill(:KILL, Process.pid) })
    assert_match(/still running after 0.3 s/, failure_of(within: 0.3) { sleep 60 })
  end
end
