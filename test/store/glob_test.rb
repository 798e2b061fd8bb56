# frozen_string_literal: true
# quick

require "test_helper"
require "tiercel"

class GlobTest < Tiercel::TestCase
  # A pattern, matching keys, other keys. The rules are those of Redis' stringmatchlen.
  CASES = [
    ["name", %w[name], %w[names nam Name]],
    ["", [""], %w[a]],
    ["*", ["", "a", "a/b", "a\nb", "*"], []],
    ["a*", %w[a ab a*], %w[b ba]],
    ["*a", %w[a ba], %w[ab]],
    ["a*c*e", %w[ace abcde], %w[ac abcd]],
    ["a**b", %w[ab axxb], %w[a]],
    ["a?c", %w[abc a?c], %w[ac abbc]],
    ["a?", ["a\n", "a\u00fc"], %w[a]],
    ["[abc]x", %w[ax bx cx], %w[dx x]],
    ["[a-c]x", %w[ax bx cx], %w[dx -x]],
    ["[^a-c]x", %w[dx -x], %w[ax x]],
    ["[a\\]]x", ["ax", "]x"], ["bx", "\\x"]],
    ["[&&b]x", %w[&x bx], %w[ax]],
    ["[[]x", ["[x"], %w[ax]],
    ["[c-a]x", %w[ax bx cx], %w[dx]],
    ["[aab-cc]x", %w[ax bx cx], %w[dx]],
    ["[a-]x", %w[ax -x], %w[bx]],
    ["[^-a]x", %w[bx], %w[ax -x]],
    ["[\\d]x", %w[dx], %w[1x \\x]],
    ["[\u00e4-\u00fc]x", %W[\u00f6x], %w[ax]],
    ["[^]x", %w[ax], %w[x]],
    ["[]x", [], %w[ax x]],
    ["[ab", %w([ab), %w[a]],
    ["a\\", ["a\\"], %w[a]],
    ["[.]x", %w[.x], %w[ax]],
    ["a.c", %w[a.c], %w[abc]],
    ["a\\*c", %w[a*c], %w[abc]],
    ["a\\\\c", ["a\\c"], %w[ac]],
    ["(a|b)+{1}$^", ["(a|b)+{1}$^"], %w[a]],
    ["\u00fc*", %W[\u00fc \u00fcx], %w[u]],
  ].freeze

  def test_what_matches_and_begins_with_the_prefix
    CASES.each do |pattern, matching, others|
      glob = Tiercel::Store::Glob.new(pattern)
      matching.each do |key|
        assert_match glob.regexp, key, "#{pattern.inspect} and #{key.inspect}"
        assert key.start_with?(glob.literal_prefix.to_s), "#{pattern.inspect} and #{key.inspect}"
      end
      others.each { |key| refute_match glob.regexp, key, "#{pattern.inspect} and #{key.inspect}" }
    end
  end

  def test_what_every_match_begins_with
    { "name" => "name", "na*" => "na", "na?e" => "na", "na[m]e" => "na", "a\\*b*" => "a*b", "*" => nil, "?a" => nil,
      "[a]" => nil, "" => nil, "views/products:*" => "views/products:" }.each do |pattern, prefix|
      found = Tiercel::Store::Glob.new(pattern).literal_prefix
      prefix.nil? ? assert_nil(found, pattern) : assert_equal(prefix, found, pattern)
    end
  end
end
