# frozen_string_literal: true
# quick

require "test_helper"
require "tiercel/key_pattern"

class KeyPatternTest < Tiercel::TestCase
  KeyPattern = Tiercel::KeyPattern
  KEYS = ["app:a", "app:A", "app:ä", "app:a\nb", "other", "\xFF\xFE".b, "", "x" * 300].freeze
  REGEXPS = [/a/, /A/i, /ä\z/, /a.b/m, /a . b/xm, /\A\z/, /\u{FFFD}/, /(?<name>x+)\z/, /a\nb/,
             Regexp.new("a", Regexp::FIXEDENCODING),
             /\Aapp:(?:.*)\z/].freeze

  def test_what_comes_back_matches_the_same
    REGEXPS.product([nil, "", "app:", "ä".b, "p" * 65_535]).each do |regexp, prefix|
      pattern = KeyPattern.new(prefix, regexp)
      back = KeyPattern.load(pattern.dump)
      assert_equal [prefix&.b], [back.prefix&.b]
      KEYS.each { |key| assert_equal pattern.match?(key), back.match?(key), "#{regexp.inspect} of #{key.inspect}" }
    end
  end

  def test_what_cannot_be_kept
    assert_nil KeyPattern.new(nil, Regexp.new("ä".encode("ISO-8859-1"))).dump
    assert_nil KeyPattern.new("p" * 65_536, /a/).dump
  end

  def test_bytes_of_no_pattern
    sound = KeyPattern.new("app:", /(a|b)+/).dump
    random = Random.new(17)
    500.times do
      bytes = sound.dup
      bytes.setbyte(random.rand(bytes.bytesize), random.rand(256)) if random.rand(2).zero?
      bytes = bytes.byteslice(0, random.rand(bytes.bytesize + 1)) if random.rand(2).zero?
      found = KeyPattern.load(bytes)
      assert(found.nil? || found.is_a?(KeyPattern))
    end
    assert_nil KeyPattern.load("\0\0\0\0(".b)
    assert_nil KeyPattern.load("\0\0\0\0\xFF".b)
  end
end
