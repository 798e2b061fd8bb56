# frozen_string_literal: true

require "test_helper"
require "active_support/core_ext/object/to_param"
require "active_support/core_ext/string/output_safety"
require "date"

# Keys and versions of names in C, compared with Rails.
class CodecKeysTest < Tiercel::TestCase
  Record = Struct.new(:cache_key, :cache_version)
  Unversioned = Struct.new(:cache_key)
  Param = Struct.new(:to_param) { undef_method :to_a }

  # Names with a key.
  KNOWN = [
    "a", "views/1", "\u00e9" * 10, "\xFF", "a".b, "a".encode(Encoding::US_ASCII), "a".encode(Encoding::ISO_8859_1),
    "x" * 250, :a, :"\u00e9", ["a"], [:a, "b"], ["a", ["b", [:c]]], ["", "a"], [[], "a"], Record.new("r/1", "1"),
    Record.new("\u00e9", 1), Record.new(:r, nil), ["views", Record.new("r/1", "1")],
    [Record.new("r/1", "1"), Record.new("r/2", :v), "x"], [[Record.new("r/1", "1")], Record.new("r/2", "2")],
    Record.new("r/1", Class.new(String).new("own")), Record.new("x" * 200, "1"), Unversioned.new("u/1"),
    Class.new(Array) { def cache_key = "list" }.new, ["y" * 100, "z" * 100],
    1, -1, 0, 2**62, 2**64, -(2**80), 1.5, ["user", 1], [1, "x"], [1], [[1]], [1, [2, -3]], [2**64, :a], [nil, nil],
    ["a", nil], [nil, 1], ["a", true], [false, 1], [Record.new("r/1", "1"), nil], [Record.new("r/1", "1"), 1], 3r,
    Date.new(2026, 11, 22), ["a", Date.new(2026, 11, 22)], ["a", 1..2], ["a", Time.at(0).utc], Object, ["a", Integer],
    Param.new("p"), ["a", Param.new(nil)], ["a", Param.new("\u00e9")], [1, Float::INFINITY]
  ].freeze

  # Names without a key, if used alone.
  BLANK = ["", [], [[]], Record.new(nil), Record.new(""), nil, [nil], [[nil]], Param.new(nil), Param.new("")].freeze

  # Names whose keys Rails computes.
  UNKNOWN = [
    { a: 1 }, Class.new(String).new("a"), "a".html_safe, "\u00e9".b, "a".encode(Encoding::UTF_16LE), [true], [[false]],
    "\u00e9".encode(Encoding::ISO_8859_1), ["a", "\u00e9".b], Param.new(1), Param.new(:a), Param.new(true),
    Param.new("\u00e9".b), ["a", { b: 1 }], Class.new(Array).new([1]), Class.new(Hash).new,
    "a".dup.tap { |name| name.define_singleton_method(:cache_key) { "b" } },
    ["a"].tap { |name| name.define_singleton_method(:cache_version) { "1" } }, (1..40).reduce("a") { |name, _| [name] },
  ].freeze

  def test_names_that_are_known
    KNOWN.product([nil, "space", "\u00fc"]) do |name, namespace|
      assert_equal rails.send(:normalize_key, name, { namespace: namespace }), rules.key(name, namespace, false), name
    end
  end

  def test_versions
    KNOWN.each do |name|
      version = rules.version(name)
      next refute_respond_to(name, :cache_version) if version == false
      expected = rails.send(:normalize_version, name)
      expected.nil? ? assert_nil(version) : assert_equal([expected, String], [version, version.class])
    end
  end

  def test_names_that_are_left_to_rails
    [*UNKNOWN, *BLANK, true, false, *UNKNOWN.map { |name| ["a", name] }].product([nil, "space"]) do |name, namespace|
      assert_nil rules.key(name, namespace, false), name.inspect
    end
    assert_nil rules.key("a", "\u00fc".encode(Encoding::ISO_8859_1), false)
  end

  def test_an_application_that_gives_integers_a_param
    fork_and_wait(1) do
      Integer.define_method(:to_param) { "no-#{self}" }
      [7, ["user", 7], [2**70]].each { |name| assert_as_rails(name, name.inspect) or raise "left to Rails" }
      Integer.define_method(:cache_key) { "one" }
      Integer.define_method(:cache_version) { "v#{self}" }
      assert_as_rails([7, "a"], "with a cache_key")
      assert_equal %w[one/a v7], [rules.key([7, "a"], nil, 250), rules.version([7, "a"])]
      String.define_method(:cache_key) { "changed" }
      assert_nil rules.key("a", nil, 250)
      true
    end
  end

  def test_limits
    assert_equal ["x" * 9, nil], [rules.key("x" * 9, nil, 9), rules.key("x" * 10, nil, 9)]
    assert_equal ["n:#{"x" * 7}", nil], [rules.key("x" * 7, "n", 9), rules.key("x" * 8, "n", 9)]
    assert_equal 5_000, rules.key("x" * 5_000, nil, nil).bytesize
  end

  def test_many
    strings = %w[a b c]
    assert_same strings, rules.keys(strings, nil, 250)
    assert_equal %w[n:a n:b n:c], rules.keys(strings, "n", 250)
    names = ["a", Record.new("r/1", "1"), [:b, Record.new("r/2", "2")]]
    assert_equal [%w[a r/1 b/r/2], [nil, "1", "2"]],
                 [rules.keys(names, nil, 250), names.map { |name| rules.version(name) }]
    assert_nil rules.keys(["a", nil], nil, 250)
    assert_equal false, rules.version(Unversioned.new("u/1"))
  end

  def test_frozen_copies
    keys = ["a".dup, "b".freeze, "long".dup * 200]
    copies = rules.frozen(keys)
    assert_equal [keys, true], [copies, copies.all?(&:frozen?)]
    assert_same keys[1], copies[1]
    keys.values_at(0, 2).each { |key| key << "changed" }
    assert_equal ["a", "b", "long" * 200], copies
  end

  def test_a_key_that_raises_and_an_array_that_changes_while_it_is_expanded
    name = Class.new { def cache_key = raise(IOError) }.new
    assert_raises(IOError) { rules.key(["a", name], nil, 250) }
    list = Array.new(100) { "part" }
    list.unshift(Class.new { define_method(:cache_key) { [list.clear, GC.start, "own"].last } }.new)
    assert_kind_of String, rules.key(list, nil, false)
  end

  private

  def rules = Tiercel::CodecExt

  # Returns whether we compute a key for the name.
  def assert_as_rails(name, words)
    expected = begin
      rails.send(:normalize_key, name, { namespace: "n" })
    rescue ArgumentError, NoMethodError, EncodingError
      nil
    end
    key = rules.key(name, "n", false) or return false
    assert_equal [expected, Encoding::UTF_8], [key, key.encoding], words
    assert_version(rules.version(name), rails.send(:normalize_version, name), words)
    true
  end

  def assert_version(version, expected, words)
    return if version == false
    expected.nil? ? assert_nil(version, words) : assert_equal(expected, version, words)
  end

  def rails = @rails ||= ActiveSupport::Cache::Store.new(max_key_size: false)
end
