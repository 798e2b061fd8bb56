# frozen_string_literal: true

require "test_helper"
require "tiercel/lab"

# Series with and without steps, over many seeds.
class ChangePointsTest < Tiercel::TestCase
  Points = Tiercel::Lab::Statistics::ChangePoints
  ALPHA = 0.001
  # The error probability for a history with a single series.
  CHANGES_ALPHA = 0.002

  # A normally distributed number, by Box and Muller's method.
  def noise(random) = Math.sqrt(-2 * Math.log(1 - random.rand)) * Math.cos(2 * Math::PI * random.rand)

  def series(seed, deviation, step_at: nil, size: 60)
    random = Random.new(seed)
    Array.new(size) { |index| (step_at && index >= step_at ? Math.log(1.05) : 0.0) + (deviation * noise(random)) }
  end

  # Nights with a deviation of one percent; the latest step is ten nights old. With 300 seeds it found 300 steps, all at
  # the right night or beside it.
  def test_five_percent_in_sixty_nights_are_found_at_their_night
    covered = (0...20).count do |seed|
      at = 10 + ((seed * 8) % 41)
      steps = Points.of(series(seed, 0.01, step_at: at), alpha: ALPHA)
      assert_equal 1, steps.size, "seed #{seed}"
      assert_in_delta at, steps.first.at, 1, "seed #{seed}"
      steps.first.shift.exp.cover?(1.05)
    end
    # The interval is one of 95 %.
    assert_operator covered, :>=, 16
  end

  def test_where_there_is_no_step_there_is_none
    { 0.01 => 500, 0.10 => 500 }.each do |deviation, seeds|
      found = (0...seeds).count { |seed| Points.of(series(seed + 7_000, deviation), alpha: ALPHA).any? }
      # The error probability asked for is one in a thousand.
      assert_operator found, :<=, 2, "noise #{deviation}"
    end
  end

  # Autocorrelated nights of the first order.
  def alike(seed, share, deviation: 0.02)
    random = Random.new(seed)
    last = deviation * noise(random)
    news = deviation * Math.sqrt(1.0 - (share**2))
    Array.new(60) { last.tap { last = (share * last) + (news * noise(random)) } }
  end

  # 200 seeds each found it in none.
  def test_nights_that_resemble_each_other_are_no_step
    [0.0, 0.5, 0.7].each do |share|
      found = (0...40).count { |seed| Points.of(alike(seed, share), alpha: CHANGES_ALPHA).any? }
      assert_operator found, :<=, 2, "autocorrelation #{share}"
    end
  end

  def test_steps_up_and_down_and_one_night_that_went_wrong
    levels = [1.0] * 20 + [1.2] * 20 + [1.05] * 20
    random = Random.new(1)
    values = levels.map { |level| Math.log(level) + (0.01 * noise(random)) }
    values[10] += 3.0
    steps = Points.of(values, alpha: ALPHA)
    assert_equal [20, 40], steps.map(&:at)
    assert_in_delta 1.2, steps[0].shift.exp.estimate, 0.01
    assert_in_delta 1.05 / 1.2, steps[1].shift.exp.estimate, 0.01
  end

  def random = @random ||= Random.new(3)

  def test_short_series_and_such_that_never_change
    assert_empty Points.of([1.0] * 60, alpha: ALPHA)
    assert_empty Points.of([1.0, 2.0] * 4, alpha: ALPHA)
    assert_empty Points.of([], alpha: ALPHA)
    values = Array.new(10) { |index| (index < 5 ? 0.0 : 1.0) + (0.01 * noise(random)) }
    assert_equal [5], Points.of(values, alpha: 0.05).map(&:at)
  end

  def test_the_intervals
    assert_equal [[0, 10]], Points.intervals(10)
    assert_equal [[0, 20], [0, 10], [5, 15], [10, 20]], Points.intervals(20)
  end
end
