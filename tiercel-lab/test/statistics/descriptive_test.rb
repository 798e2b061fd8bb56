# frozen_string_literal: true

require_relative "../support/lab_case"

class DescriptiveTest < LabCase
  Statistics = Lab::Statistics

  def test_median_of_odd_and_even_counts
    assert_equal 3, Statistics.median([5, 1, 3])
    assert_in_delta 2.5, Statistics.median([4, 1, 2, 3])
    assert_raises(ArgumentError) { Statistics.median([]) }
  end

  # The example of Wikipedia's article on the median absolute deviation.
  def test_mad_of_a_published_example
    assert_equal 1, Statistics.mad([1, 1, 2, 2, 4, 6, 9])
  end

  # R: quantile(c(1, 2, 3, 4), c(0.25, 0.5, 0.9))
  def test_quantiles_are_those_of_r
    values = [4, 2, 1, 3]
    assert_in_delta 1.75, Statistics.quantile(values, 0.25)
    assert_in_delta 2.5, Statistics.quantile(values, 0.5)
    assert_in_delta 3.7, Statistics.quantile(values, 0.9)
    assert_equal 4, Statistics.quantile(values, 1.0)
    assert_raises(ArgumentError) { Statistics.quantile(values, 1.1) }
  end

  def test_geometric_mean
    assert_in_delta 4.0, Statistics.geometric_mean([2, 8])
  end

  # R: qt(0.975, 5) = 2.570582, qt(0.975, 40) = 2.021075; pnorm(-1.959964) = 0.025
  def test_students_t_and_the_normal_share
    assert_in_delta 2.571, Statistics.t_975(5)
    assert_in_delta 2.021, Statistics.t_975(40), 0.003
    assert_in_delta 0.025, Statistics.normal_share(-1.959964), 1e-6
    assert_raises(ArgumentError) { Statistics.t_975(0) }
  end
end
