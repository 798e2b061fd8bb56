# frozen_string_literal: true

require_relative "../support/lab_case"

class VerdictTest < LabCase
  def verdict(low, high, **)
    Lab::Statistics::Verdict.of(Lab::Statistics::Interval.new((low + high) / 2, low, high), **)
  end

  def test_four_verdicts
    assert_equal :faster, verdict(0.5, 0.9, threshold: 0.02)
    assert_equal :slower, verdict(1.1, 1.5, threshold: 0.02)
    assert_equal :same, verdict(0.99, 1.01, threshold: 0.02)
    assert_equal :cannot_tell, verdict(0.9, 1.01, threshold: 0.02)
    assert_equal :cannot_tell, verdict(0.95, 1.5, threshold: 0.02)
  end

  def test_a_difference_within_the_threshold_is_none
    assert_equal :cannot_tell, verdict(1.05, 1.2, threshold: 0.10)
    assert_equal :slower, verdict(1.11, 1.2, threshold: 0.10)
  end

  def test_a_quick_run_never_says_same
    assert_equal :cannot_tell, verdict(0.99, 1.01, threshold: 0.1, equality: false)
  end
end
