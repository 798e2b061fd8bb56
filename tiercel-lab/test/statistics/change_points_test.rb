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

  # Nights with a deviation of one percent. With 300 seeds it found 300 steps, all at the right night or beside it.
  def test_five_percent_in_sixty_nights_are_found_at_their_night
    covered = (0...20).count do |seed|
      at = 10 + ((seed * 7) % 41)
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
  def alike(seed, share, deviation: 0.02, step: 0.0, size: 60)
    random = Random.new(seed)
    last = deviation * noise(random)
    news = deviation * Math.sqrt(1.0 - (share**2))
    Array.new(size) { |night| last.tap { last = (share * last) + (news * noise(random)) } + (night < 50 ? 0.0 : step) }
  end

  # 200 seeds each found it in none.
  def test_nights_that_resemble_each_other_are_no_step
    [0.0, 0.5, 0.7].each do |share|
      found = (0...40).count { |seed| Points.of(alike(seed, share), alpha: CHANGES_ALPHA).any? }
      assert_operator found, :<=, 2, "autocorrelation #{share}"
    end
  end

  # A step of 5 % in nights with a deviation of one percent.
  def test_a_step_is_found_within_ten_nights
    found = (0...20).count do |seed|
      Points.of(alike(seed, 0.0, deviation: 0.01, step: Math.log(1.05)), alpha: CHANGES_ALPHA)
            .any? { |step| step.at.between?(47, 53) }
    end
    assert_operator found, :>=, 18
  end

  def test_the_smallest_step_that_would_be_found_is_found_and_grows_with_the_likeness
    sizes = [0.0, 0.7].map do |share|
      found, sizes = 0, []
      15.times do |seed|
        sizes << Points.detectable(alike(seed, share, deviation: 0.01), alpha: CHANGES_ALPHA)
        found += 1 if Points.of(alike(seed, share, deviation: 0.01, step: sizes.last), alpha: CHANGES_ALPHA).any?
      end
      assert_operator found, :>=, 9, "autocorrelation #{share}" # of 80 % fewer than 9 have a chance of 2 %
      sizes.sum / sizes.size
    end
    assert_includes 0.01..0.035, sizes.first
    assert_operator sizes.last, :>, 1.3 * sizes.first
    assert_nil Points.detectable([1.0] * 15, alpha: ALPHA)
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

  # A single division misses these steps.
  def test_a_level_that_came_and_went
    values = Array.new(60) { |index| ((20...35).cover?(index) ? 0.3 : 0.0) + (0.01 * noise(random)) }
    assert_equal [20, 35], Points.of(values, alpha: ALPHA).map(&:at)
  end

  def random = @random ||= Random.new(3)

  def test_short_series_and_such_that_never_change
    assert_empty Points.of([1.0] * 60, alpha: ALPHA)
    assert_empty Points.of([1.0, 2.0] * 4, alpha: ALPHA)
    assert_empty Points.of([], alpha: ALPHA)
    values = Array.new(10) { |index| (index < 5 ? 0.0 : 1.0) + (0.01 * noise(random)) }
    assert_equal [5], Points.of(values, alpha: 0.05).map(&:at)
  end

  # The error probability for one of fifty series.
  def test_the_least_chance_to_err_can_still_be_answered_for
    values = series(1, 0.01, step_at: 40)
    assert_equal [40], Points.of(values, alpha: Points::LEAST_ALPHA).map(&:at)
  end

  def test_the_intervals
    assert_equal [[0, 10]], Points.intervals(10)
    assert_equal [[0, 20], [0, 10], [5, 15], [10, 20]], Points.intervals(20)
  end

  def test_one_night_that_went_wrong_is_put_back
    values = [1.0, 1.1, 0.9, 1.0, 9.0, 1.0, 1.1, 0.9, 1.0]
    assert_equal 1.0, Points.cleaned(values)[4]
    assert_equal values.values_at(0..3), Points.cleaned(values).values_at(0..3)
  end
end
