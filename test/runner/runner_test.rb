# frozen_string_literal: true

require "test_helper"
require_relative "small_repository"

# How the runner handles suites, files and their results.
class RunnerTest < Tiercel::TestCase
  include SmallRepository

  def test_failures_errors_and_skips_are_counted_and_named
    suite "one", <<~RUBY
      class MixedTest < Minitest::Test
        def test_fails = assert_equal(1, 2)
        def test_errs = raise("broken")
        def test_skips = skip("no reason")
        def test_passes = assert(true)
      end
    RUBY
    result = run_tests
    assert_equal 1, result.status
    assert_equal "1 passed, 2 failed, 1 skipped", result.summary
    assert_includes result.output, "one: MixedTest#test_fails"
    assert_includes result.output, "one: MixedTest#test_errs"
    assert_includes result.output, "skipped: no reason (MixedTest#test_skips)"
    assert_match(/Expected: 1\n.*Actual: 2/, result.output)
  end

  def test_a_suite_that_needs_what_is_not_there_is_reported_as_skipped
    suite "one", PASSING
    suite "main", PASSING, needs: "TIERCEL_TEST_NOT_SET"
    result = run_tests
    assert_equal [0, "1 passed, 0 failed, 1 skipped"], [result.status, result.summary]
    assert_includes result.output, "skipped: TIERCEL_TEST_NOT_SET is not set"
    assert_equal [0, "0 passed, 0 failed, 1 skipped"], run_tests("main").then { |alone| [alone.status, alone.summary] }
  end

  def test_a_crashing_suite_fails_and_keeps_what_it_did
    suite "crashing", <<~RUBY
      class CrashingTest < Minitest::Test
        i_suck_and_my_tests_are_order_dependent!
        def test_a = assert(true)
        def test_b = Process.kill(:KILL, Process.pid)
        def test_c = assert(true)
      end
    RUBY
    suite "good", PASSING
    result = run_tests
    assert_equal 1, result.status
    assert_equal "2 passed, 1 failed, 0 skipped", result.summary
    assert_includes result.output, "ended before its tests did in CrashingTest#test_b: signal KILL"
  end

  def test_a_suite_that_skips_everything_fails
    suite "skipping", "class SkippingTest < Minitest::Test\n  def test_it = skip\nend\n"
    assert_equal "0 passed, 1 failed, 1 skipped", run_tests.summary
  end

  def test_a_file_that_cannot_be_loaded_fails_and_the_others_run
    suite "one", PASSING
    write "test/one/b_test.rb", "require 'no/such/file'\n"
    write "test/one/c_test.rb", "class {\n"
    result = run_tests
    assert_equal [1, "1 passed, 2 failed, 0 skipped"], [result.status, result.summary]
    assert_includes result.output, "test_b_test_can_be_loaded"
    assert_includes result.output, "test_c_test_can_be_loaded"
  end

  def test_a_suite_that_takes_too_long_is_ended_with_what_it_started
    pid_file = File.join(@root, "pid")
    suite "slow", <<~RUBY
      class SlowTest < Minitest::Test
        def test_it
          File.write(#{pid_file.inspect}, spawn("sleep 600"))
          sleep 600
        end
      end
    RUBY
    # The time is over once the test has begun, however long that took.
    over = Module.new { define_method(:now) { super() + (File.size?(pid_file) ? 1_000 : 0) } }
    TestRunner::ChildProcess.prepend(over)
    declared = TestRunner::Suites.new(File.join(@root, "test/suites.rb"), root: @root).first
    outcome = nil
    capture_subprocess_io do
      outcome = TestRunner::RubyRun.new(declared, declared.files, root: @root).run
    end
    assert_match(/took too long.*SlowTest#test_it/, outcome.failures.first)
    pid = Integer(File.read(pid_file))
    wait_until("the end of what it started") { ended?(pid) }
  end

  def test_commands_are_tests
    write "test/native/commands.rb", <<~RUBY
      command "true", "test -d test"
      command "false", "echo why; exit 3"
      command "long", "exit 4", long: true
    RUBY
    declare "native", commands: "test/native/commands.rb"
    result = run_tests
    assert_equal [1, "1 passed, 1 failed, 0 skipped"], [result.status, result.summary]
    assert_includes result.output, "exit status 3"
    assert_includes result.output, "  why"
    assert_equal "1 passed, 2 failed, 0 skipped", run_tests("--long").summary
    assert_equal "1 passed, 0 failed, 0 skipped", run_tests("-n", "true").summary
  end

  def test_names_choose_suites_and_tests
    suite "one", "#{PASSING}class OtherTest < Minitest::Test\n  def test_other = assert(true)\nend\n"
    suite "two", PASSING
    suite "demanded", PASSING, on_demand: true
    assert_equal "3 passed, 0 failed, 0 skipped", run_tests.summary
    assert_equal "1 passed, 0 failed, 0 skipped", run_tests("two").summary
    assert_equal "1 passed, 0 failed, 0 skipped", run_tests("demanded").summary
    assert_equal "1 passed, 0 failed, 0 skipped", run_tests("-n", "test_other").summary
    assert_equal 1, run_tests("-n", "test_absent").status
  end

  def test_a_path_runs_in_the_store_suite_or_where_it_belongs
    files = { "test/a_test.rb" => PASSING, "test/b_test.rb" => "# suites: kernel\n#{PASSING.sub("Passing", "Kernel")}" }
    files.each { |path, content| write path, content }
    %w[kernel store].each { |name| declare name, tests: ["test/**/*_test.rb"], gemfile: GEMFILE }
    assert_match(/^store: 1 of 1/, run_tests(File.join(@root, "test/a_test.rb")).output.gsub(/^ +/, ""))
    both = run_tests(File.join(@root, "test")).output.gsub(/^ +/, "")
    assert_match(/^store: 1 of 1/, both)
    assert_match(/^kernel: 1 of 1/, both)
    assert_match(/^kernel: 2 of 2/, run_tests("kernel").output.gsub(/^ +/, ""))
    assert_match(/^kernel: 1 of 1/, run_tests("kernel", File.join(@root, "test/a_test.rb")).output.gsub(/^ +/, ""))
  end

  def test_a_comment_that_names_no_suite_is_an_error
    suite "one", "# suites: on\n#{PASSING}"
    result = run_tests
    assert_equal 2, result.status
    assert_includes result.output, "\"# suites: on\" names no suite"
  end

  def test_what_is_neither_a_suite_nor_a_path_is_an_error
    suite "one", PASSING
    assert_equal 2, run_tests("oen").status
    assert_equal 2, run_tests("test/absent_test.rb").status
    assert_equal 2, run_tests("--no-such-option").status
    assert_equal 2, run_tests(__FILE__).status
  end
end
