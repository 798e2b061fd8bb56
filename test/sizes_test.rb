# frozen_string_literal: true
# quick

require "test_helper"

class SizesTest < Tiercel::TestCase
  Sizes = Tiercel::Sizes

  def test_integers_are_bytes
    assert_equal 1, Sizes.bytes(1)
    assert_equal 2**40, Sizes.bytes(2**40)
  end

  def test_units_are_powers_of_1024
    { "1" => 1, "10B" => 10, "1KB" => 1_024, "1k" => 1_024, "1KiB" => 1_024, "256MB" => 256 * 1_024**2,
      "1.5 GB" => 1_610_612_736, " 2 mb " => 2 * 1_024**2, "3M" => 3 * 1_024**2, "1TB" => 1_024**4,
      "0.5KB" => 512 }.each do |text, bytes|
      assert_equal bytes, Sizes.bytes(text), text
    end
  end

  def test_what_is_no_size
    [0, -1, 1.5, nil, true, :MB, "", "MB", "0", "-1MB", "1PB", "1 M B", "1,000", "0.1", [1]].each do |size|
      error = assert_raises(Tiercel::ConfigurationError, size.inspect) { Sizes.bytes(size, option: :size) }
      assert_includes error.message, "size: expected bytes"
      assert_includes error.message, "got #{size.inspect}"
    end
  end

  def test_for_people
    { 0 => "0 B", 1_023 => "1023 B", 1_024 => "1.0 KB", 1_536 => "1.5 KB", 256 * 1_024**2 => "256.0 MB",
      3 * 1_024**3 => "3.0 GB", 2 * 1_024**4 => "2.0 TB" }.each { |bytes, text| assert_equal text, Sizes.human(bytes) }
  end
end
