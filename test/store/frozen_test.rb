# frozen_string_literal: true

require "test_helper"
require "active_support/cache/tiercel_store"

# `frozen: true`: values come back deep-frozen, and over a segment are decoded once per change.
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

  def test_plain_values_come_back_frozen_on_every_way
    [true, false].each do |fast_path|
      cache = store(fast_path: fast_path)
      cache.write("rows", ROWS)
      cache.write("text", "abc")
      [cache.read("rows"), cache.fetch("rows") { flunk }, cache.read_multi("rows")["rows"],
       cache.read("rows", namespace: nil), cache.read("text")].each { |value| assert deeply_frozen?(value) }
      assert_equal ROWS, cache.read("rows")
    end
  end

  def test_the_object_is_the_same_while_nothing_changes
    cache = store
    cache.write("rows", ROWS)
    assert_same cache.read("rows"), cache.read("rows")
    first = cache.read("rows")
    cache.write("rows", ROWS)
    refute_same first, cache.read("rows")
  end

  def test_a_change_by_another_store_is_seen_at_once
    with_tmpdir do |dir|
      cache = store("shared:#{dir}/segment?size=2MB")
      other = Tiercel.new("shared:#{dir}/segment?size=2MB")
      cache.write("rows", [1])
      assert_equal [1], cache.read("rows")
      other.write("rows", [2])
      assert_equal [2], cache.read("rows")
      other.delete("rows")
      assert_nil cache.read("rows")
      fork_and_wait(1) { other.write("rows", [3]) }
      assert_equal [3], cache.read("rows")
    end
  end

  def test_end_and_version_are_checked_though_the_object_is_kept
    cache = store
    cache.write("rows", [1], expires_in: 10, version: "1")
    assert_equal [1], cache.read("rows")
    assert_nil cache.read("rows", version: "2")
    assert_equal [1], cache.read("rows", version: "1")
    travel(11) { assert_nil cache.read("rows") }
  end

  def test_other_types_are_decoded_afresh_and_not_frozen
    cache = store
    range_in_array = [1..2, Struct.new(:a)]
    cache.write("set", Set[1])
    first = cache.read("set")
    refute_predicate first, :frozen?
    refute_same first, cache.read("set")
    refute Tiercel::DeepFreeze.call(range_in_array)
    refute_predicate range_in_array, :frozen?
  end

  def test_counters_are_not_kept
    cache = store
    cache.increment("counter")
    assert_equal 1, cache.read("counter")
    cache.increment("counter")
    assert_equal 2, cache.read("counter")
  end

  def test_the_memo_is_bounded_in_entries_and_bytes
    memo = Tiercel::Memo.new(entries: 3, bytes: 1_000)
    5.times { |index| memo.keep("key#{index}", Tiercel::Memo::Slot.new("t", index, nil, nil, 100)) }
    assert_equal 3, memo.size
    assert_nil memo["key0"]
    memo.keep("large", Tiercel::Memo::Slot.new("t", 1, nil, nil, 251))
    assert_nil memo["large"]
    10.times { |index| memo.keep("more#{index}", Tiercel::Memo::Slot.new("t", 1, nil, nil, 250)) }
    assert_operator memo.bytes, :<=, 1_000
    Tiercel::Memo.clear_all
    assert_equal [0, 0], [memo.size, memo.bytes]
  end

  def test_bounds_are_checked
    error = assert_raises(Tiercel::ConfigurationError) { Tiercel.new("memory:", frozen: { lines: 1 }) }
    assert_match(/frozen: expected/, error.message)
    cache = Tiercel.new("memory:", frozen: { entries: 10, bytes: "1MB" })
    cache.write("rows", [1])
    assert_same cache.read("rows"), cache.read("rows")
  end
end
