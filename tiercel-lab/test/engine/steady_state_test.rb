# frozen_string_literal: true

require_relative "../support/lab_case"

class SteadyStateTest < LabCase
  SUBJECT = Lab::Engine::SteadyState

  # @return [Array(Boolean, Integer)] whether it was steady, and the number of probes
  def reach(costs, **limits)
    at, made = 0.0, 0
    clock = -> { at }
    steady = SUBJECT.reach(clock:, **limits) do
      at += 0.01
      made += 1
      costs.fetch(made - 1, costs.last)
    end
    [steady, made]
  end

  def test_recording_begins_after_the_last_fall
    assert_equal [true, 12], reach([0.37])
    steady, made = reach([3.0, 2.6, 2.2, 1.9, 1.6, 1.4, 1.2, 1.0, 0.8, 0.6, 0.5, 0.45, 0.4, *([0.37] * 50)])
    assert steady
    assert_operator made, :>=, 19
  end

  def test_a_plateau_of_a_tenth_of_a_second_is_waited_for
    steady, made = reach([*([2.0] * 14), 0.37], least_seconds: 0.15)
    assert steady
    assert_operator made, :>=, 15
  end

  # Recorded: new pages in each probe of a write of 50 rows by `memory:`. The time of the probes did not fall before.
  def test_a_process_that_touches_new_memory_is_waited_for
    made = pages = 0
    of_probe = [*([235] * 8), *([183] * 20), 36, 9, 53, 52, 52, 49]
    touched = -> { pages += of_probe.fetch((made += 1) - 1, 0) }
    assert_equal [true, 31], reach([20.0], pages: touched)
    assert_equal [true, 40], reach([20.0], pages: -> { pages += 183 }), "some stores always touch new pages"
  end

  # A full mark in the 0.08 s of a process made reads of 2 KB 20 to 30 % dearer than in a full run.
  def test_garbage_causes_no_full_mark
    cell = measure("planted_littering").fetch("planted_littering")
    assert_equal ["measured", nil], [cell.status, cell.reason]
  end

  def test_what_never_settles_is_said
    assert_equal [false, 100], reach(Array.new(200) { |index| 0.95**(index / 3.0) * 100 }, most_seconds: 0.995)
  end

  def test_the_first_blocks_of_a_process_are_warm_up_if_all_later_ones_are_cheaper
    assert_equal 2, SUBJECT.warm_up([4.0, 2.0, 0.37, 0.36, 0.38])
    assert_equal 0, SUBJECT.warm_up([0.4, 0.37, 0.36, 0.38, 0.39])
    assert_equal 0, SUBJECT.warm_up([4.0, 0.4, 0.36, 0.38, 0.39]), "a pause is a cost, not warm-up"
    assert_equal 0, SUBJECT.warm_up([2.0])
  end

  # Recorded on c8fa7d5a: every process fell from 2-6 us to 0.35-0.40, and the headline said 1.57 us.
  def test_the_headline_does_not_measure_warm_up
    cell = Lab::Engine::Cell.new(comparison = compare("memory_store", "tiercel:shared:"), comparison.arms.last)
    4.times do |process|
      [3_800, 1_600, 380, 370, 365].each_with_index do |ns, block|
        2.times { |half| cell.slices << Lab::Engine::Cell::Slice.new(process, block, half, 1, ns, 0, ns, 0) }
      end
    end
    assert_equal [380, 370, 365], cell.block_ns[0].values.map(&:round)
  end
end
