# frozen_string_literal: true

require_relative "../support/lab_case"
require "minitest/mock"
require "tiercel/lab"

class StopwatchTest < LabCase
  def test_sleep_is_waiting_and_work_is_not
    *, waited, delay = Lab::Engine::Stopwatch.time { sleep 0.05 }
    skip "this kernel does not tell" unless delay
    assert_operator waited, :>, 20_000_000
    ns, _gc, cpu, _compiled, waited, delay = Lab::Engine::Stopwatch.time { 100_000.times { Math.sqrt(2.0) } }
    assert_operator cpu + waited + delay, :<=, ns + 5_000_000
  end

  def test_the_time_of_compiling_is_left_out
    skip "without YJIT" unless defined?(RubyVM::YJIT)
    figures = [[10, 0], [13, 60_000_000_000]].map { |count, ns| { compiled_iseq_count: count, compile_time_ns: ns } }
    RubyVM::YJIT.stub(:enabled?, true) do
      RubyVM::YJIT.stub(:runtime_stats, -> { figures.shift }) do
        ns, _gc, cpu, compiled, waited, = Lab::Engine::Stopwatch.time { sleep 0.02 }
        assert_equal [0, 0, 3], [ns, cpu, compiled]
        assert_operator waited, :>, 10_000_000, "a sleep stays a cost"
      end
    end
  end
end
