# frozen_string_literal: true
# quick

require "test_helper"

class ReportLimitTest < Tiercel::TestCase
  def setup
    @now = 100.0
    @limit = Tiercel::ReportLimit.new(pause_seconds: 1, clock: -> { @now })
  end

  def test_one_of_a_cause_is_let_through_and_the_others_are_counted
    assert_equal [0, nil, nil, nil], Array.new(4) { @limit.admit(:full) }
    @now += 1
    assert_equal [3, nil], Array.new(2) { @limit.admit(:full) }
  end

  def test_causes_are_told_apart
    assert_equal [0, 0, nil, nil], %i[full read_only full read_only].map { |cause| @limit.admit(cause) }
  end

  def test_it_is_bounded
    1_000.times { |cause| assert_equal 0, @limit.admit(cause) }
    assert_equal 0, @limit.admit(0)
    assert_nil @limit.admit(999)
  end
end
