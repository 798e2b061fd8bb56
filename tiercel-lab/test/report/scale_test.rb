# frozen_string_literal: true

require "test_helper"
require "tiercel/lab"

class ReportScaleTest < Tiercel::TestCase
  Scale = Tiercel::Lab::Report::Scale

  def test_linear_ends_on_round_numbers_and_is_proportional
    scale = Scale.build(:linear, 0, 87, [100, 500])
    assert_equal [0.0, 100.0], scale.domain
    assert_in_delta 100, scale.call(0)
    assert_in_delta 300, scale.call(50)
    assert_equal [0, 20, 40, 60, 80, 100], scale.ticks
  end

  def test_log_has_equal_distances_for_equal_ratios
    scale = Scale.build(:log, 0.1, 1_000, [0, 400])
    assert_in_delta 100, scale.call(1)
    assert_in_delta 200, scale.call(10)
    assert_equal [0.1, 1.0, 10.0, 100.0, 1_000.0], scale.ticks(5)
  end

  def test_ticks_are_within_the_domain_and_no_more_than_asked_for
    [[0.09, 1.4], [1, 8], [3, 4], [1e-3, 1e9], [0.95, 1.05]].each do |low, high|
      scale = Scale.build(:log, low, high, [0, 100])
      [3, 4, 7].each do |count|
        ticks = scale.ticks(count)
        assert(ticks.all? { |tick| tick.between?(low * 0.999, high * 1.001) }, "#{low}..#{high}")
        assert_operator ticks.size, :<=, count + 1, "#{low}..#{high}: #{ticks}"
      end
    end
  end

  def test_a_single_figure_still_has_a_scale
    assert_operator Scale.build(:linear, 5, 5, [0, 100]).ticks.size, :>=, 2
    assert_in_delta 0, Scale.build(:log, 5, 5, [0, 100]).call(5)
  end

  def test_what_cannot_be
    assert_match(/expected figures > 0/, assert_raises(ArgumentError) { Scale.build(:log, 0, 5, [0, 1]) }.message)
    assert_match(/:cubic/, assert_raises(ArgumentError) { Scale.build(:cubic, 1, 5, [0, 1]) }.message)
  end
end
