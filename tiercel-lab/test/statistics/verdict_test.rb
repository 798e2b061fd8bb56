# frozen_string_literal: true

require_relative "../support/lab_case"

class VerdictTest < LabCase
  def verdict(low, high, **)
    Lab::Statistics::Verdict.of(Lab::Statistics::Interval.new((low + high) / 2, low, high), **)
  end

  def test_four_verdicts
    assert_equal [:faster] * 2, [verdict(0.5, 0.9, margin: 0.02), verdict(0.5, 0.9803, margin: 0.02)]
    assert_equal :slower, verdict(1.1, 1.5, margin: 0.02)
    assert_equal :same, verdict(0.99, 1.01, margin: 0.02)
    undecided = [[0.9, 1.01], [0.9, 0.99], [1.02, 1.10], [0.95, 1.5]]
    assert_equal [:cannot_tell] * 4, undecided.map { |bounds| verdict(*bounds, margin: 0.02) }
  end

  def test_a_quick_run_never_says_same
    assert_equal :cannot_tell, verdict(0.99, 1.01, margin: 0.1, equality: false)
  end

  def both(median, mean, **)
    intervals = [median, mean].map { |low, high| Lab::Statistics::Interval.new((low + high) / 2, low, high) }
    Lab::Statistics::Verdict.by_both(*intervals, margin: 0.02, **)
  end

  def test_median_and_mean_that_agree
    assert_equal :same, both([0.99, 1.01], [0.985, 1.015])
    assert_equal :slower, both([1.04, 1.06], [1.03, 1.08])
    assert_equal :faster, both([0.5, 0.6], [0.7, 0.8]), "both say so, though they are apart"
  end

  # Few expensive blocks: 60 ms every 40,000 calls of 4.7 us.
  def test_a_mean_apart_from_the_median_is_uneven
    assert_equal :uneven, both([0.99, 1.01], [1.2, 1.45])
    assert_equal :uneven, both([0.8, 0.9], [1.2, 1.45])
    assert_equal :uneven, both([0.99, 1.01], [1.2, 1.45], equality: false)
  end

  # An undecided interval must not contradict the other one.
  def test_one_interval_decides_where_the_other_supports_it
    assert_equal :slower, both([1.03, 1.07], [0.99, 1.12])
    assert_equal :slower, both([0.99, 1.05], [1.03, 1.06])
    assert_equal :cannot_tell, both([0.90, 0.95], [0.8, 1.3]), "its estimate is slower"
    assert_equal :same, both([0.99, 1.01], [0.97, 1.035])
    assert_equal :cannot_tell, both([0.99, 1.01], [0.95, 1.3])
    assert_equal :cannot_tell, both([1.021, 1.03], [1.0, 1.019])
  end
end
