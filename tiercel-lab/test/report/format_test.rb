# frozen_string_literal: true

require "test_helper"
require "tiercel/lab"

class ReportFormatTest < Tiercel::TestCase
  Format = Tiercel::Lab::Report::Format

  def test_three_significant_digits_with_thousands_set_apart
    assert_equal %w[0.00123 0.0287 0.580 3.92 113 1,234 12,346 0],
      [0.001234, 0.0287, 0.58, 3.92, 113.4, 1234.4, 12_345.6, 0.0].map { |value| Format.number(value) }
    assert_equal "1,234,567", Format.number(1_234_567)
    assert_equal "7", Format.number(7)
  end

  def test_signs_digits_and_what_is_no_number
    assert_equal "\u22121.50", Format.number(-1.5)
    assert_equal "0.0", Format.number(-0.01, digits: 1), "nothing is not negative"
    assert_equal "-1234.5", Format.number(-1234.5, digits: 1, plain: true)
    assert_equal "", Format.number(nil)
    assert_equal "Infinity", Format.number(Float::INFINITY)
  end

  def test_units
    assert_equal "1.20 us", Format.with_unit(1.2, "us")
    assert_equal "50.0%", Format.with_unit(50.0, "%")
    assert_equal "2.00x", Format.with_unit(2.0, "x")
    assert_equal "5", Format.with_unit(5, nil)
  end

  def test_ticks_durations_and_bytes
    assert_equal %w[0 0.25 1 1.5k 20k 2M 3G], [0, 0.25, 1, 1500, 20_000, 2e6, 3e9].map { |value| Format.tick(value) }
    assert_equal ["450 ns", "12.0 us", "3.50 ms", "2.00 s"], [450e-9, 12e-6, 3.5e-3, 2].map { |value|
      Format.duration(value)
    }
    assert_equal ["0 B", "950 B", "1.50 KB", "2.00 MB"], [0, 950, 1536, 2 << 20].map { |value| Format.bytes(value) }
  end
end
