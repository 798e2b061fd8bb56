# frozen_string_literal: true
# quick

require "test_helper"

class KeyPatternTest < Tiercel::TestCase
  def test_keys_of_any_bytes
    pattern = Tiercel::KeyPattern.new("app:", /\Aapp:(?:a.\u{FFFD}|ä)\z/m)
    assert(["app:ä", "app:ä".b, "app:a\n\xFF".b].all? { |key| pattern.match?(key) })
    refute pattern.match?("other")
  end

  # A glob, matching keys, other keys. The rules are those of Redis.
  GLOBS = [
    ["name", %w[name], %w[names nam Name]],
    ["*", ["", "a", ".a/b", "a\nb", "a\0b"], []],
    ["a*c*e", %w[ace abcde a.c/e], %w[ac abcd]],
    ["a?c", %w[abc a?c aüc], %w[ac abbc]],
    ["[a-c]x", %w[ax bx cx], %w[dx -x]],
    ["[^a-c]x", %w[dx -x], %w[ax x]],
    ["[a\\]]x", ["ax", "]x"], ["bx", "\\x"]],
    ["(a|b)+{1,2}$^", ["(a|b)+{1,2}$^"], %w[a]],
    ["a\\*c", %w[a*c], %w[abc]],
    ["abc", %w[abc], ["abc\0x"]],
  ].freeze

  def test_globs
    GLOBS.each do |glob, matching, others|
      pattern = Tiercel::KeyPattern.glob("ns[1]:", glob)
      matching.each { |key| assert pattern.match?("ns[1]:#{key}"), "#{glob} and #{key.inspect}" }
      others.each { |key| refute pattern.match?("ns[1]:#{key}"), "#{glob} and #{key.inspect}" }
      matching.each { |key| assert "ns[1]:#{key}".start_with?(pattern.prefix), glob }
    end
    assert_equal "views/products:", Tiercel::KeyPattern.glob("", "views/products:*").prefix
    assert_nil Tiercel::KeyPattern.glob("", "*").prefix
  end
end
