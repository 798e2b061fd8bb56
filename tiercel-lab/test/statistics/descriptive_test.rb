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
    assert_nil Statistics::SlowBlocks.among([*[100.0] * 7, 104.0], calls: 1), "4 % are no slow block"
    assert_equal [2, 10, 1_500.0, 50], Statistics::SlowBlocks.among([*[100.0] * 8, 200.0, 300.0], calls: 10).to_h.values
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

  # R: qt(0.975, c(1, 2, 5, 40)), qt(0.9999, 6), pt(1, 3)
  def test_students_t
    [[1, 12.706205], [2, 4.302653], [5, 2.570582], [40, 2.021075]].each do |degrees, expected|
      assert_in_delta expected, Statistics.t_quantile(0.975, degrees), 1e-5
    end
    assert_in_delta 8.024793, Statistics.t_quantile(0.9999, 6), 1e-4
    assert_in_delta 0.8044989, Statistics.t_share(1.0, 3), 1e-6
    assert_raises(ArgumentError) { Statistics.t_share(1.0, 0) }
    assert_raises(ArgumentError) { Statistics.t_quantile(1.0, 5) }
  end
end
