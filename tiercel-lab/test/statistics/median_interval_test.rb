# frozen_string_literal: true

require_relative "../support/lab_case"

class MedianIntervalTest < LabCase
  Statistics = Lab::Statistics
  MedianInterval = Statistics::MedianInterval

  # Six processes with one value each. For a median below or above all of them, all scores are equal.
  def test_medians_that_all_processes_contradict_are_refused
    interval = MedianInterval.of([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    assert_in_delta 3.5, interval.estimate
    assert_equal [1.0, 6.0], interval.bounds
    assert_operator MedianInterval.p_value([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], at: 0.5), :<, 1e-9
  end

  # The scores of three processes for zero are 1/3, 1 and -1/3. Their mean is 1/3 and their standard deviation 2/3, so t
  # is sqrt(3) / 2 with two degrees of freedom. Its share is 1/2 + t / (2 sqrt(2 + t^2)).
  def test_the_test_is_students_on_each_processs_mean_sign
    processes = [[1.0, 2.0, -1.0], [1.0, 1.0, 1.0], [-1.0, -2.0, 3.0]]
    t = Math.sqrt(3) / 2
    assert_in_delta 1 - (t / Math.sqrt(2 + (t * t))), MedianInterval.p_value(processes), 1e-9
  end

  def test_a_process_counts_once_however_many_blocks_it_has
    many = MedianInterval.of([[0.0] * 90, [1.0] * 90, [2.0] * 90, [3.0] * 90])
    assert_equal [0.0, 3.0], many.bounds
  end

  def test_one_process_says_nothing_of_the_next
    assert_equal [1.0, 9.0], MedianInterval.of([[1.0, 2.0, 9.0]]).bounds
    assert_in_delta 1.0, MedianInterval.p_value([[1.0, 2.0, 9.0]])
    assert_raises(ArgumentError) { MedianInterval.of([[1.0], []]) }
    assert_raises(ArgumentError) { MedianInterval.of([]) }
  end

  def test_a_smaller_chance_to_err_is_a_wider_interval
    random = Random.new(5)
    processes = Array.new(12) { Array.new(8) { random.rand } }
    wide, narrow = [0.001, 0.05].map { |alpha| MedianInterval.of(processes, alpha:) }
    assert_operator wide.high - wide.low, :>, narrow.high - narrow.low
  end

  # Many small experiments with long tails and a known median: counts how many intervals contain it.
  def test_the_interval_covers_the_truth_as_often_as_it_says
    random = Random.new(3)
    cauchy = -> { Math.tan(Math::PI * (random.rand - 0.5)) }
    covered = 400.times.count do
      processes = Array.new(6) { center = 0.3 * cauchy.call.clamp(-3, 3); Array.new(8) { center + cauchy.call } }
      MedianInterval.of(processes).cover?(0.0)
    end
    assert_operator covered, :>=, 370 # 95 % of 400 is 380; fewer than 370 has a chance of 1 %
  end
end
