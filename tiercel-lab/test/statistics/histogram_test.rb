# frozen_string_literal: true

require_relative "../support/lab_case"

class HistogramTest < LabCase
  Histogram = Lab::Statistics::Histogram

  def histogram(values) = values.each_with_object(Histogram.new) { |value, histogram| histogram.record(value) }

  def test_a_quantile_is_never_too_low_and_less_than_a_hundredth_too_high
    random = Random.new(4)
    values = Array.new(20_000) { (10**(random.rand * 9)).to_i }
    counted = histogram(values)
    sorted = values.sort
    [0.01, 0.5, 0.9, 0.99, 0.999, 1.0].each do |share|
      exact = sorted[[(share * sorted.size).ceil, 1].max - 1]
      assert_includes exact..(exact * 1.008).ceil, counted.quantile(share), "at #{share}"
    end
  end

  def test_merging_is_recording_both
    one = histogram([5, 70_000, 123])
    other = histogram([9_999_999, 2])
    merged = Histogram.new.merge!(one).merge!(other)
    assert_equal histogram([5, 70_000, 123, 9_999_999, 2]).to_h, merged.to_h
  end
end
