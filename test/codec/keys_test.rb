# frozen_string_literal: true

require "test_helper"
require "tiercel/store"
require "active_support/core_ext/object/to_param"

# Keys and versions of names: the rules in Ruby against those in C, and both against Rails' own.
class CodecKeysTest < Tiercel::TestCase
  RULES = [Tiercel::Store::FastPath::NamesInRuby, Tiercel::Codec.native].compact.freeze
  Record = Struct.new(:cache_key, :cache_version)
  Unversioned = Struct.new(:cache_key)

  # What has a key here.
  KNOWN = [
    "a", "views/1", "\u00e9" * 10, "\xFF", "a".b, "a".encode(Encoding::US_ASCII), "a".encode(Encoding::ISO_8859_1),
    "x" * 250, :a, :"\u00e9", ["a"], [:a, "b"], ["a", ["b", [:c]]], ["", "a"], [[], "a"], Record.new("r/1", "1"),
    Record.new("\u00e9", 1), Record.new(:r, nil), ["views", Record.new("r/1", "1")],
    [Record.new("r/1", "1"), Record.new("r/2", :v), "x"], [[Record.new("r/1", "1")], Record.new("r/2", "2")],
    Record.new("r/1", Class.new(String).new("own")), Record.new("x" * 200, "1"), Unversioned.new("u/1"),
    Class.new(Array) { def cache_key = "list" }.new, ["y" * 100, "z" * 100]
  ].freeze

  # What has none, alone.
  BLANK = ["", [], [[]], Record.new(nil), Record.new("")].freeze

  # What is left to Rails.
  UNKNOWN = [
    nil, 1, 1.5, { a: 1 }, Class.new(String).new("a"), "\u00e9".b, "a".encode(Encoding::UTF_16LE),
    "\u00e9".encode(Encoding::ISO_8859_1), [nil], ["a", 1], ["a", "\u00e9".b],
    Object.new, true, "a".dup.tap { |name| name.define_singleton_method(:cache_key) { "b" } },
    ["a"].tap { |name| name.define_singleton_method(:cache_version) { "1" } }, (1..40).reduce("a") { |name, _| [name] },
  ].freeze

  def test_names_that_are_known
    KNOWN.each do |name|
      RULES.product([nil, "space", "\u00fc"]) do |rules, namespace|
        assert_equal rails.send(:normalize_key, name, { namespace: namespace }), rules.key(name, namespace, false),
                     "#{name.inspect} by #{rules}"
      end
    end
  end

  def test_versions
    KNOWN.each do |name|
      RULES.each do |rules|
        version = rules.version(name)
        next refute_respond_to(name, :cache_version) if version == false
        expected = rails.send(:normalize_version, name)
        expected.nil? ? assert_nil(version) : assert_equal([expected, String], [version, version.class])
      end
    end
  end

  def test_names_that_are_left_to_rails
    (UNKNOWN + BLANK).product(RULES) do |name, rules|
      assert_nil rules.key(name, nil, false), "#{name.inspect} by #{rules}"
      assert_nil rules.key(name, "space", false), "#{name.inspect} by #{rules}"
    end
    UNKNOWN.product(RULES) { |name, rules| assert_nil rules.key(["a", name], nil, false), "#{name.inspect}, #{rules}" }
  end

  def test_namespaces_that_are_left_to_rails
    RULES.each { |rules| assert_nil rules.key("a", "\u00fc".encode(Encoding::ISO_8859_1), false) }
  end

  def test_limits
    RULES.each do |rules|
      assert_equal ["x" * 9, nil], [rules.key("x" * 9, nil, 9), rules.key("x" * 10, nil, 9)]
      assert_equal ["n:#{"x" * 7}", nil], [rules.key("x" * 7, "n", 9), rules.key("x" * 8, "n", 9)]
      assert_equal 5_000, rules.key("x" * 5_000, nil, nil).bytesize
      assert_equal 10_001, rules.key(["x" * 5_000, "y" * 5_000], nil, false).bytesize
    end
  end

  def test_many
    RULES.each do |rules|
      strings = %w[a b c]
      assert_same strings, rules.keys(strings, nil, 250)
      assert_nil rules.versions(strings)
      assert_equal %w[n:a n:b n:c], rules.keys(strings, "n", 250)
      names = ["a", Record.new("r/1", "1"), [:b, Record.new("r/2", "2")]]
      assert_equal [%w[a r/1 b/r/2], [nil, "1", "2"]], [rules.keys(names, nil, 250), rules.versions(names)]
      assert_nil rules.keys(["a", nil], nil, 250)
      assert_equal false, rules.versions([Unversioned.new("u/1")])
    end
  end

  def test_a_key_that_raises
    name = Class.new { def cache_key = raise(IOError) }.new
    RULES.each { |rules| assert_raises(IOError) { rules.key(["a", name], nil, 250) } }
  end

  def test_an_array_that_changes_while_it_is_expanded
    RULES.each do |rules|
      list = Array.new(100) { "part" }
      list.unshift(Class.new { define_method(:cache_key) { [list.clear, GC.start, "own"].last } }.new)
      assert_kind_of String, rules.key(list, nil, false)
    end
  end

  def test_classes_that_were_given_a_cache_key
    fork_and_wait(1) do
      String.define_method(:cache_key) { "changed" }
      RULES.each { |rules| assert_nil rules.key("a", nil, 250) }
      true
    end
  end

  private

  def rails = @rails ||= ActiveSupport::Cache::Store.new(max_key_size: false)
end
