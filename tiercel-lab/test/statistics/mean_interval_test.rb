# frozen_string_literal: true

require_relative "../support/lab_case"

class MeanIntervalTest < LabCase
  Statistics = Lab::Statistics
  MeanInterval = Statistics::MeanInterval

  # Residuals are -0.5, 0 and 0.5: the standard error is sqrt(0.5 / 6), and t for two degrees of freedom 4.3027.
  def test_the_bounds_are_those_of_the_process_means
    interval = MeanInterval.of([[0.5, 1.5], [2.0, 2.0], [3.0]])
    assert_in_delta 2.0, interval.estimate
    reach = 4.302653 * Math.sqrt(0.5 / 6)
    assert_in_delta 2.0 * Math.exp(reach), interval.high, 1e-5
    assert_in_delta 2.0 * Math.exp(-reach), interval.low, 1e-6
  end

  def test_what_both_share_is_no_uncertainty
    interval = MeanInterval.ratio([[2.0], [4.0], [8.0]], [[1.0], [2.0], [4.0]])
    assert_equal [2.0, 2.0, 2.0], [interval.estimate, *interval.bounds]
  end

  def test_two_processes_have_the_range_of_their_blocks
    interval = MeanInterval.ratio([[1.0, 3.0], [2.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]])
    assert_equal [2.0, 1.0, 3.0], [interval.estimate, *interval.bounds]
    assert_raises(ArgumentError) { MeanInterval.of([]) }
    assert_raises(ArgumentError) { MeanInterval.of([[1.0], []]) }
  end

  # Blocks with long tails, processes that differ, and rare pauses, with a known mean.
  def test_the_interval_covers_the_true_ratio_as_often_as_it_says
    random = Random.new(7)
    covered = 400.times.count do
      mine, theirs = Array.new(2) { Array.new(6) { process(random) } }
      MeanInterval.ratio(mine, theirs).cover?(1.0)
    end
    assert_operator covered, :>=, 370 # 95 % of 400 is 380; fewer than 370 has a chance of 1 %
  end

  def process(random)
    level = Math.exp(0.02 * normal(random))
    Array.new(8) { level * Math.exp(0.05 * normal(random)) * (random.rand < 0.05 ? 1.5 : 1.0) }
  end

  def normal(random) = Math.sqrt(-2 * Math.log(1 - random.rand)) * Math.cos(2 * Math::PI * random.rand)
end
