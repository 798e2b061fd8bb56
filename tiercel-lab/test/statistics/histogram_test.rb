# frozen_string_literal: true

require_relative "../support/lab_case"

class HistogramTest < LabCase
  Histogram = Lab::Statistics::Histogram

  def histogram(values) = values.each_with_object(Histogram.new) { |value, histogram| histogram.record(value) }

  def test_small_values_are_exact
    counted = histogram((1..100).to_a)
    assert_equal 50, counted.quantile(0.5)
    assert_equal 99, counted.quantile(0.99)
    assert_equal 1, counted.quantile(0.0)
    assert_equal [1, 100, 100, 5050], [counted.min, counted.max, counted.count, counted.sum]
  end

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

  def test_it_survives_json
    counted = histogram([1, 2, 3_000_000_000_000])
    assert_equal counted.to_h, Histogram.from_h(JSON.parse(JSON.generate(counted.to_h))).to_h
    assert_raises(ArgumentError) { Histogram.from_h("precision_bits" => 3) }
  end

  def test_empty_and_negative
    assert_nil Histogram.new.quantile(0.5)
    assert_nil Histogram.new.mean
    assert_raises(ArgumentError) { Histogram.new.record(-1) }
  end
end
