# frozen_string_literal: true
# quick

require "test_helper"
require "tiercel/errors"

class OneLineTest < Tiercel::TestCase
  def test_bytes_that_are_no_text_are_replaced
    ["a\xFFb", "a\xFFb".b, "a\xFFb".dup.force_encoding("US-ASCII")].each do |text|
      assert_equal "a\uFFFDb", Tiercel::OneLine.of(text)
    end
  end

  def test_there_is_one_line
    assert_equal "a b c d", Tiercel::OneLine.of("a\r\nb\u2028c\e\0d")
  end

  def test_a_long_text_is_shortened
    assert_equal "#{"x" * 1_000}...", Tiercel::OneLine.of("x" * 3_000_000)
    assert_equal "#{"é" * 1_000}...", Tiercel::OneLine.of("é" * 3_000)
    assert_equal "é" * 1_000, Tiercel::OneLine.of("é" * 1_000)
    assert_equal "x" * 1_000, Tiercel::OneLine.of("x" * 1_000)
  end

  def test_an_error_joins_the_bytes_of_a_server_with_a_key_and_a_backend
    error = Tiercel::Unavailable.new("no\n\xFF".b, backend: "redis://é", key: "ä")
    assert_equal "no \uFFFD - key * - redis://é", error.message
    assert_equal "no \uFFFD", error.reason
  end
end
