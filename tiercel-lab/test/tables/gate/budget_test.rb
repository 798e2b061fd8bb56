# frozen_string_literal: true

require_relative "../../support/lab_case"

class GateBudgetTest < LabCase
  Timing = Lab::Tables::Gate::Timing

  # On c8fa7d5a the plan assumed 0.12 s to open an arm that took 1 s, and a planted allocation took over 900 s.
  def test_the_cells_that_are_timed_fit_into_the_time_that_is_left
    { [180, 3, 1.0] => 12, [180, 3, 0.1] => 37,
      [0, 3, 1.0] => 0, [110, 2, 1.0] => 11 }.each do |(left, arms, open), most|
      room = Timing.room(left, arms, open)
      assert_operator room, :<=, most
      slices = Timing::PROTOCOL.slices * Timing::PROTOCOL.slice_ns / 1e9
      assert_operator room * arms * Timing::LEAST_PROCESSES * (open + slices), :<=, left
    end
  end

  def timing(budget, open_seconds: 1.0)
    settings = Struct.new(:quick).new(false)
    configuration = Struct.new(:margins).new({ "time" => 0.05 })
    now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    Timing.new([], [], run: nil, configuration:, settings:).within(now + budget, open_seconds)
  end

  def test_as_many_processes_as_there_is_time_for
    assert_equal [6, 24], timing(300).send(:protocol, 12, 180.0).then { |one| [one.processes, one.most_processes] }
    slow = timing(300).send(:protocol, 40, 180.0)
    assert_equal [4, nil, 180.0], [slow.processes, slow.most_processes, slow.budget_seconds]
  end
end
