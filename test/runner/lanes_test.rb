# frozen_string_literal: true

require "test_helper"
require_relative "small_repository"

# Suites that run concurrently, and processes that share one suite.
class RunnerLanesTest < Tiercel::TestCase
  include SmallRepository

  # Each suite continues once the other one has begun.
  MEETING = <<~RUBY
    class MeetingTest < Minitest::Test
      def test_it
        mine = ENV["TIERCEL_SUITE"]
        other = { "one" => "two", "two" => "one" }.fetch(mine)
        File.write(mine, "")
        2_000.times { File.exist?(other) ? break : sleep(0.05) }
        assert File.exist?(other), "nobody came"
        puts "said by \#{mine}"
      end
    end
  RUBY

  def test_two_suites_run_at_a_time_and_one_says_so_after
    suite "one", MEETING
    suite "two", MEETING
    result = run_tests
    assert_equal 0, result.status, result.output
    assert_equal "2 passed, 0 failed, 0 skipped", result.summary
    assert_equal ["two ...", "said by two", "one ...", "said by one"],
                 result.output.lines(chomp: true).grep(/ \.\.\.\z|said by/)
  end

  # Waits for the other test, which another process has to begin.
  MEET = 'File.write(mine, ""); 2_000.times { File.exist?(other) ? break : sleep(0.05) }'

  # The first two tests must run concurrently.
  SHARED = <<~RUBY
    class SharedTest < Minitest::Test
      %w[a b].permutation.each do |mine, other|
        define_method(:"test_\#{mine}_meets_\#{other}") do
          #{MEET}
          assert File.exist?(other), "nobody came"
        end
      end
      30.times { |index| define_method(:"test_\#{index}") { refute_equal 7, index } }
      def teardown = File.write("ran", "\#{Process.pid} \#{name}\n", mode: "a")
    end

    class LateTest < Minitest::Test
      TOGETHER = true
      5.times { |at| define_method(:"test_\#{at}") { assert File.write("late", "\#{Process.pid}\n", mode: "a") } }
    end
  RUBY

  def test_processes_that_share_a_suite_run_each_of_its_tests_once
    write "test/one/b_test.rb", PASSING
    suite "one", SHARED, workers: 2
    result = run_tests("--slowest", "2")
    assert_equal [1, "37 passed, 1 failed, 0 skipped"], [result.status, result.summary], result.output
    assert_match(/^Failed:\n  one: SharedTest#test_7$/, result.output)
    assert_equal 2, result.output.scan(/^ +\d+\.\d\d s, computing +\d+\.\d\d s: \w+Test#/).size
    ran = File.readlines("#{@root}/ran", chomp: true).map(&:split)
    assert_equal [2, 32], ran.transpose.map { |column| column.uniq.size }
    assert_equal 32, ran.size
    assert_equal 1, File.readlines("#{@root}/late").uniq.size
  end

  def test_one_process_of_several_that_dies_fails_the_suite
    write "test/one/b_test.rb", PASSING
    suite "one", <<~RUBY, workers: 2
      class DyingTest < Minitest::Test
        30.times { |index| define_method(:"test_\#{index}") { index == 7 ? Process.kill(:KILL, Process.pid) : pass } }
      end
    RUBY
    result = run_tests
    assert_equal [1, "30 passed, 1 failed, 0 skipped"], [result.status, result.summary], result.output
    assert_includes result.output, "ended before its tests did in DyingTest#test_7: signal KILL"
  end
end
