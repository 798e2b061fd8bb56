# frozen_string_literal: true

require_relative "../support/lab_case"

class OrderStatisticsTest < LabCase
  Order = Lab::Statistics::OrderStatistics

  # Textbook table: for n = 10 the second and the ninth value cover the median with 97.9 %.
  def test_ten_values_give_the_second_and_the_ninth
    interval = Order.median_interval((1..10).to_a.shuffle(random: Random.new(1)))
    assert_equal [2, 9], interval.bounds
    assert_in_delta 0.9785, Order.coverage(10, 1), 0.0001
  end

  def test_five_values_are_too_few_and_six_just_enough
    assert_nil Order.median_interval([1, 2, 3, 4, 5])
    assert_equal [1, 6], Order.median_interval([6, 5, 4, 3, 2, 1]).bounds
  end

  # Every one of the 2**6 ways in which six values can lie about the median.
  def test_coverage_agrees_with_exact_enumeration
    [0, 1, 2].each do |rank|
      covering = (0...64).count do |signs|
        below = signs.digits(2).count(1)
        below > rank && below < 6 - rank
      end
      assert_in_delta covering / 64.0, Order.coverage(6, rank), 1e-12
    end
  end
end
