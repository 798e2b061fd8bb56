# frozen_string_literal: true

require "test_helper"
require "active_support/cache/tiercel_store"
require "bigdecimal/util"
require "timeout"

# `frozen: true`: values are returned deep-frozen; over a segment they are decoded once per change.
class FrozenTest < Tiercel::TestCase

  ROWS = Array.new(3) { |index| { id: index, name: +"row #{index}", tags: [+"a", :b], at: 1.5 } }.freeze

  def store(url = "memory:", **options) = Tiercel.new(url, frozen: true, **options)

  def deeply_frozen?(value)
    return false unless value.frozen?
    case value
    when Array then value.all? { |member| deeply_frozen?(member) }
    when Hash then value.all? { |key, member| deeply_frozen?(key) && deeply_frozen?(member) }
    else true
    end
  end

  # Values with a part that is not of a plain type: a class, a subclass, an object with instance variables.
  Point = Struct.new(:x)
  Pair = Data.define(:left)
  class Name < String; end
  class Names < Array; end
  class Options < Hash; end
  class Zone
    def name = "own"
    def utc_to_local(time) = time
    def local_to_utc(time) = time
  end
  OTHERS = {
    "Struct" => -> { Point.new([1]) }, "Data" => -> { Pair.new([1]) }, "Range" => -> { ("a".dup.."b".dup) },
    "Set" => -> { Set[[1]] }, "Object" => -> { Object.new }, "Regexp" => -> { /a/ }, "BigDecimal" => -> { 2.to_d },
    "String's subclass" => -> { Name.new("a") }, "Array's subclass" => -> { Names.new([1]) },
    "Hash's subclass" => -> { Options[1, 2] },
    "instance variable" => -> { [1].tap { |array| array.instance_variable_set(:@own, [1]) } },
    "default that is not plain" => -> { Hash.new(Point.new([1])) },
  }.freeze

  def test_plain_values_come_back_frozen_on_every_way
    cache = store(stale_if_error: 60)
    cache.write_multi({ "rows" => ROWS, "text" => "abc" })
    cache.write("stale", ROWS, expires_in: 1)
    travel(2) { assert deeply_frozen?(cache.fetch("stale") { raise IOError }) }
    [cache.read("rows"), cache.fetch("rows") { flunk }, cache.read_multi("rows")["rows"],
     cache.read("rows", namespace: nil), cache.read("text")].each { |value| assert deeply_frozen?(value) }
    assert_equal ROWS, cache.read("rows")
  end

  def test_with_a_coder_of_ones_own
    cache = store(coder: Marshal)
    cache.write("rows", ROWS)
    [cache.read("rows"), cache.read_multi("rows")["rows"]].each { |value| assert deeply_frozen?(value) }
  end

  def test_the_object_is_the_same_while_nothing_changes
    needs_extension "segment"
    cache = store
    cache.write("rows", ROWS)
    2.times { cache.read("rows") } # the value enters the memo at its second read
    assert_same cache.read("rows"), cache.read("rows")
    first = cache.read("rows")
    cache.write("rows", ROWS)
    refute_same first, cache.read("rows")
  end

  def test_whatever_is_not_of_the_listed_types_is_decoded_afresh
    cache = store
    OTHERS.each do |name, make|
      [make.call, [make.call], { 1 => [make.call] }].each do |value|
        cache.write("other", value)
        first = cache.read("other")

        refute_same first, cache.read("other"), name
        refute_predicate first, :frozen?, name if value.instance_of?(Array) || value.instance_of?(Hash)
      end
    end
    zoned = Time.at(0).tap { |time| time.define_singleton_method(:zone) { Zone.new } }
    procs = Hash.new { |hash, key| hash[key] = [] }
    [[zoned], [procs], { 1 => procs }].each { |value| refute Tiercel::DeepFreeze.call(value) }
  end

  def test_a_default_is_frozen_with_its_hash
    cache = store
    cache.write("defaults", { plain: Hash.new([+"a"]), nested: Hash.new(Hash.new([+"b"])) })
    2.times do
      defaults = cache.read("defaults")
      assert deeply_frozen?([defaults, defaults[:plain][:absent], defaults[:nested][1][2]].freeze)
      assert_raises(FrozenError) { defaults[:plain][:absent] << 1 }
    end
  end

  # The number of paths to the innermost object is enormous, but there are only 40 objects.
  def test_shared_objects_are_looked_at_once
    cache = store
    nested = (1..40).reduce([+"x"]) { |inner, index| index.even? ? [inner, inner] : { a: inner, b: inner } }
    cache.write("nested", nested)
    Timeout.timeout(60) do
      value = cache.read("nested")
      40.times do
        assert_predicate value, :frozen?
        value = value.is_a?(Hash) ? value[:b] : value.last
      end
      assert_predicate value, :frozen?
    end
  end

  def test_cycles
    needs_extension "segment"
    cycle = [1]
    cycle << { self: cycle }
    cache = store
    cache.write("cycle", cycle)
    value = Array.new(3) { cache.read("cycle") }.last

    assert value.frozen? && value.last.frozen?
    assert_same value, cache.read("cycle")
  end

  def test_deeper_values_are_left_as_they_are
    deep = (1..200).reduce([1]) { |inner, _| [inner] }

    refute Tiercel::DeepFreeze.call(deep)
    refute_predicate deep, :frozen?
  end
end
