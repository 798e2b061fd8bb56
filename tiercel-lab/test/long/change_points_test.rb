# frozen_string_literal: true

require_relative "../support/lab_case"

# Asks 400 simulated histories for alerts after every night, as a nightly job does. Their nights have 2 % of noise.
# Takes some minutes.
class LongChangePointsTest < LabCase
  HISTORIES = 400
  NIGHTS = 60
  DEVIATION = 0.02
  STEP = Math.log(1.05)
  STEP_AT = 50
  # No seed of the tests that the constants were chosen by.
  SEED = 4_000_000

  def setup
    super
    skip "long tier" unless long?
  end

  # @param share [Float] autocorrelation
  # @return [Array<Float>] logarithms of the nights' figures
  def nights(seed, share, step: 0.0)
    random = Random.new(SEED + seed)
    last = DEVIATION * normal(random)
    innovation = DEVIATION * Math.sqrt(1.0 - (share**2))
    Array.new(NIGHTS) do |night|
      last.tap { last = (share * last) + (innovation * normal(random)) } + (night < STEP_AT ? 0.0 : step)
    end
  end

  # @return [Array<Lab::History::Change>] alerts after the last of these nights
  def alerts(values)
    points = values.each_with_index.map do |value, index|
      Lab::History::Point.new(at: Time.at(index * 86_400), revision: index.to_s, value: Math.exp(value), low: nil,
                              high: nil, tools: {})
    end
    series = Lab::History::Series.new(machine: "CPU", cell: "read", figure: "time by x", unit: "x", exact: false,
                                      points:)
    Lab::History::Changes.new([series]).alerts
  end

  [0.0, 0.5, 0.7].each do |share|
    define_method("test_sixty_nights_without_a_step_at_an_autocorrelation_of_#{share}") do
      alarmed = Array.new(HISTORIES) { |seed| nights(seed, share) }.count do |values|
        (Lab::History::Changes::LEAST_RUNS..NIGHTS).any? { |night| alerts(values.first(night)).any? }
      end
      assert_operator alarmed, :<=, HISTORIES * 0.05
    end
  end

  def test_a_step_of_five_percent_is_found_within_ten_nights
    found = Array.new(HISTORIES) { |seed| nights(seed, 0.0, step: STEP) }.count do |values|
      ((STEP_AT + 1)..NIGHTS).any? do |night|
        alerts(values.first(night)).any? { |alert| alert.index.between?(STEP_AT - 5, STEP_AT + 5) }
      end
    end
    assert_operator found, :>=, HISTORIES * 0.8
  end
end
