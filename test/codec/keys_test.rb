# frozen_string_literal: true

require "test_helper"
require "tiercel/store"

# The names of a multi operation that are keys as they are: C against the rule in Ruby.
class CodecKeysTest < Tiercel::TestCase
  # The rule, by itself.
  class Rule
    include Tiercel::Store::FastPath::Names

    def initialize(max_key_bytes) = @settings = Struct.new(:max_key_bytes).new(max_key_bytes)

    def one?(name) = key_as_it_is?(name)

    def all?(names) = keys_as_they_are?(names)
  end

  NAMES = ["a", "views/1", "é" * 10, "\xFF", "", :a, nil, 1, ["a"], { a: 1 }, Class.new(String).new("a"), "a".b, "é".b,
           "a".encode(Encoding::US_ASCII), "a".encode(Encoding::UTF_16LE), "é".encode(Encoding::ISO_8859_1),
           "a".encode(Encoding::ISO_8859_1), "x" * 250, "x" * 251].freeze

  def setup
    skip "the extension is not built" unless Tiercel::Codec.native
  end

  def test_each_name_alone_and_behind_another
    [nil, false, 250].each do |limit|
      rule = Rule.new(limit)
      NAMES.each do |name|
        assert_equal rule.one?(name), native.plain_keys?([name], limit), "#{name.inspect} with #{limit.inspect}"
        assert_equal rule.one?(name), native.plain_keys?(["a", name], limit), "#{name.inspect} with #{limit.inspect}"
      end
    end
  end

  def test_a_string_with_methods_of_its_own_is_left_to_rails
    name = +"a"
    name.define_singleton_method(:cache_key) { "b" }

    refute Rule.new(nil).all?(["a", name])
    refute native.plain_keys?(["a", name], nil)
  end

  def test_only_arrays
    assert_raises(TypeError) { native.plain_keys?("a", nil) }
  end

  private

  def native = Tiercel::Codec.native
end
