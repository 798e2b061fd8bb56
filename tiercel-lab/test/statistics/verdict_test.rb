# frozen_string_literal: true

require_relative "../support/lab_case"

class VerdictTest < LabCase
  def verdict(low, high, **)
    Lab::Statistics::Verdict.of(Lab::Statistics::Interval.new((low + high) / 2, low, high), **)
  end

  def test_four_verdicts
    assert_equal :faster, verdict(0.5, 0.9, margin: 0.02)
    assert_equal :slower, verdict(1.1, 1.5, margin: 0.02)
    assert_equal :same, verdict(0.99, 1.01, margin: 0.02)
    assert_equal :cannot_tell, verdict(0.9, 1.01, margin: 0.02)
    assert_equal :cannot_tell, verdict(0.95, 1.5, margin: 0.02)
  end

  def test_a_difference_within_the_margin_is_none
    assert_equal :cannot_tell, verdict(1.05, 1.2, margin: 0.10)
    assert_equal :slower, verdict(1.11, 1.2, margin: 0.10)
  end

  # An 8 % slowdown in a noisy run: an interval that reaches into the margin says nothing, and never "same".
  def test_noise_is_not_sameness
    assert_equal :cannot_tell, verdict(1.02, 1.10, margin: 0.02)
    assert_equal :cannot_tell, verdict(0.93, 1.10, margin: 0.02)
  end

  def test_a_quick_run_never_says_same
    assert_equal :cannot_tell, verdict(0.99, 1.01, margin: 0.1, equality: false)
  end
end
