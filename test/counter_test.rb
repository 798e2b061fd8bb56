# frozen_string_literal: true
# quick

require "test_helper"

class CounterTest < Tiercel::TestCase
  Counter = Tiercel::Counter

  def test_what_is_a_counter
    { "0" => 0, "7" => 7, "-1" => -1, "12".b => 12, (2**63 - 1).to_s => 2**63 - 1,
      (-2**63).to_s => -2**63 }.each { |bytes, count| assert_equal count, Counter.parse(bytes), bytes }
  end

  def test_what_is_none
    ["", "-", "+1", "007", "-0", "-07", "00", " 1", "1 ", "1\n", "1.5", "1e3", "0x1", "abc", "1a", "--1", "\u0661",
     "1\0", (2**63).to_s, (-2**63 - 1).to_s, "9" * 19, "9" * 20, "1" * 1_000, "\xFF".b].each do |bytes|
      assert_nil Counter.parse(bytes), bytes.inspect
    end
  end

  def test_adding
    assert_equal 5, Counter.add("2", 3, "key")
    assert_equal(-1, Counter.add("2", -3, "key"))
  end

  def test_adding_to_what_is_no_counter
    error = assert_raises(Tiercel::NotACounter) { Counter.add("seven", 1, "visits") }
    assert_match(/the key \* holds 5 bytes.*raw: true.*write_counter/, error.message)
  end

  def test_the_signed_64_bit_range
    assert_equal 2**63 - 1, Counter.add((2**63 - 2).to_s, 1, "key")
    assert_equal(-2**63, Counter.in_range(-2**63, "key"))
    [2**63, -2**63 - 1].each do |count|
      error = assert_raises(Tiercel::NotACounter) { Counter.in_range(count, "visits") }
      assert_match(/the key \*: #{count} is outside.*nothing was changed/, error.message)
    end
    assert_raises(Tiercel::NotACounter) { Counter.add((2**63 - 1).to_s, 1, "key") }
  end
end
