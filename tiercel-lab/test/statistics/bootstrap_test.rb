# frozen_string_literal: true

require_relative "../support/lab_case"

class BootstrapTest < LabCase
  Statistics = Lab::Statistics

  def bootstrap(**) = Statistics::Bootstrap.new(seed: 7, **)

  # Two processes of one block: the resampled median is a, (a + b) / 2 or b with 1/4, 1/2, 1/4.
  def test_medians_have_the_exact_distribution_for_two_processes
    shares = bootstrap.medians([[0.0], [1.0]]).tally.transform_values { |count| count / 10_000.0 }
    assert_equal [0.0, 0.5, 1.0], shares.keys.sort
    assert_in_delta 0.25, shares[0.0], 0.02
    assert_in_delta 0.5, shares[0.5], 0.02
    assert_in_delta 0.25, shares[1.0], 0.02
  end

  # One process of three blocks: all 27 draws enumerated.
  def test_medians_have_the_exact_distribution_for_three_blocks
    values = [1.0, 2.0, 4.0]
    exact = values.product(values, values).map { |draw| Statistics.median(draw) }.tally
    found = bootstrap.medians([values]).tally
    assert_equal exact.keys.sort, found.keys.sort
    exact.each { |median, ways| assert_in_delta ways / 27.0, found[median] / 10_000.0, 0.02 }
  end

  def test_whole_processes_are_drawn
    # Within processes there is no spread: every resample of two is a mixture of constants.
    medians = bootstrap.medians([[1.0] * 9, [5.0] * 9])
    assert_empty medians.uniq - [1.0, 3.0, 5.0]
  end

  def test_the_same_seed_gives_the_same_interval
    random = Random.new(1)
    processes = Array.new(4) { Array.new(5) { random.rand } }
    assert_equal bootstrap.interval(processes), bootstrap.interval(processes)
    refute_equal bootstrap.interval(processes), Statistics::Bootstrap.new(seed: 8).interval(processes)
  end

  # Expanded percentile interval: with four processes the tail is Φ(-sqrt(4/3) * 3.182) = 0.00012 of either side.
  def test_few_processes_widen_the_interval
    random = Random.new(2)
    processes = Array.new(4) { Array.new(5) { random.rand } }
    interval = bootstrap.interval(processes)
    plain = bootstrap.medians(processes).sort
    assert_operator interval.low, :<, Statistics.sorted_quantile(plain, 0.025)
    assert_operator interval.high, :>, Statistics.sorted_quantile(plain, 0.975)
  end

  # Known truth, many small experiments: how often the interval holds the true median.
  def test_the_interval_covers_the_truth_as_often_as_it_says
    random = Random.new(3)
    normal = -> { Math.sqrt(-2 * Math.log(1.0 - random.rand)) * Math.cos(2 * Math::PI * random.rand) }
    covered = 200.times.count do
      processes = Array.new(6) { center = 0.5 * normal.call; Array.new(8) { center + normal.call } }
      Statistics::Bootstrap.new(seed: 1, resamples: 400).interval(processes).cover?(0.0)
    end
    assert_operator covered, :>=, 184 # 95 % of 200 is 190; fewer than 184 has a chance of 2 %
  end

  def test_p_values_of_a_clear_difference_and_of_none
    clear = Array.new(4) { |index| [0.2 + (index * 0.01)] * 5 }
    none = [[-0.1, 0.1, 0.0], [0.1, -0.1, 0.0]]
    assert_operator bootstrap.p_value(clear), :<, 0.001
    assert_operator bootstrap.p_value(none), :>, 0.5
    assert_raises(ArgumentError) { bootstrap.interval([[1.0], []]) }
  end
end
