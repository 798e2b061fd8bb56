# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "objspace"
require_relative "memo_segment"

# Strings enter and leave the memo according to their reads, within its limit in bytes.
class SegmentMemoBoundsTest < Tiercel::TestCase
  include MemoSegment

  def test_a_string_enters_when_it_is_read_again
    write("key", "a" * LONG)
    assert_equal([0, 0], kept_and_hits { @segment.read("key") })
    assert_equal([1, 0], kept_and_hits { @segment.read("key") })
    assert_equal([1, 1], kept_and_hits { @segment.read("key") })
    assert_equal([1, 2], kept_and_hits { @segment.read_multi(["key"]) })
  end

  def test_a_scan_leaves_nothing
    500.times { |i| write("key#{i}", "a" * LONG) }
    assert_equal([0, 0], kept_and_hits { 500.times { |i| @segment.read("key#{i}") } })
  end

  # Each shard has its own positions: entries of several shards at the same position must not be confused.
  def test_a_scan_of_many_shards_leaves_nothing
    segment = Tiercel::Segment.open(bytes: 64 << 20, shards: 16, hash_key: "scan of " * 2)
    segment.memo_bytes = 4 << 20
    keys = Array.new(20_000) { |i| format("key%05d", i) }
    keys.each { |key| segment.write_string(key, "a" * 700, nil, nil) }
    assert_operator keys.count { |key| segment.read(key) }, :>, 19_000
    assert_equal 0, segment.stats[:memo_entries]
  ensure
    segment&.close
  end

  # Excluding the Strings: the table, the marks and malloc's overhead.
  def test_at_most_128_bytes_an_entry_beside_the_string
    @segment.memo_bytes = 16 << 20
    [3_001, 4_500, 6_000].each do |count|
      count.times { |i| @segment.read("key#{i}") || write("key#{i}", "a" * 700) }
      130.times { count.times { |i| @segment.read("key#{i}") } }
      entries = stats(:memo_entries)
      assert_operator entries, :>, count * 0.8
      strings = ObjectSpace.reachable_objects_from(@segment).grep(String)
      assert_operator strings.size, :>=, entries
      beside = stats(:memo_bytes) - strings.sum { |string| ObjectSpace.memsize_of(string) }
      assert_operator beside.fdiv(entries), :<=, 128
      assert_operator ObjectSpace.memsize_of(@segment).fdiv(entries), :<=, 128
    end
  end

  # Nothing in the memo uses more memory than is counted: Strings within Ruby's slots, versions, whole pages.
  def test_all_that_it_holds_is_counted
    { 30 => {}, 300 => {}, 500 => {}, 630 => {}, 3_000 => {}, 822 << 10 => {}, 301 => { version: "v" * 300 },
      3_001 => { version: "v" * 3_000 } }.each do |length, options|
      store = Tiercel.new("memory:", memo: "32MB", compress: true, compress_threshold: 1)
      20.times { |i| store.write("key#{i}", "a" * length, **options) && 3.times { store.read("key#{i}") } }
      assert_equal 20, store.stats[:memo_entries], length
      segment = store.backend.segment
      kept = ObjectSpace.reachable_objects_from(segment).grep(String)
      # A version may share the bytes of another String.
      strings = kept.sum { |string| [ObjectSpace.memsize_of(string), string.bytesize + 1].max }
      counted = store.stats[:memo_bytes]
      table = ObjectSpace.memsize_of(segment) - ObjectSpace.memsize_of(Tiercel.new("memory:").backend.segment)
      assert_operator counted, :>=, strings + table, length
      pages = length >= 128 << 10 ? 4_096 : 0
      assert_operator counted, :<=, strings + table + (kept.size * (60 + pages)), length
    end
  end

  def test_short_strings_and_other_frames_do_not_enter
    write("short", "a" * 600)
    @segment.set("other", Tiercel::Frame.build(0x10, "a" * LONG))
    assert_equal([0, 0], kept_and_hits { 3.times { %w[short other].each { |key| @segment.read(key) } } })
  end

  def test_without_a_memo_nothing_is_kept
    @segment.memo_bytes = 0
    write("key", "a" * LONG)
    assert_equal([0, 0], kept_and_hits { 3.times { @segment.read("key") } })
    assert_equal 0, stats(:memo_bytes)
  end

  def test_its_bound_holds
    limit = 1 << 20
    @segment.memo_bytes = limit
    random = Random.new(Minitest.seed)
    (long? ? 100_000 : 4_000).times do
      key = "key#{random.rand(60)}"
      write(key, key * random.rand(100..9_000)) if random.rand < 0.05
      2.times { @segment.read(key) }
      assert_operator stats(:memo_bytes), :<=, limit
    end
    assert_operator stats(:memo_evictions), :>, 0
    assert_operator stats(:memo_hits), :>, 100
  end

  # A table that grew for short Strings stays large, so its size counts towards the limit.
  def test_its_table_is_within_its_bound
    @segment.memo_bytes = 1 << 20
    900.times { |i| write("short#{i}", "a" * 640) }
    60.times { 900.times { |i| @segment.read("short#{i}") } }
    assert_operator stats(:memo_entries), :>, 600
    45.times { |i| write("long#{i}", "b" * 20_000) }
    400.times { 45.times { |i| @segment.read("long#{i}") } }
    strings = ObjectSpace.reachable_objects_from(@segment).grep(String)
    assert_operator strings.count { |string| string.bytesize == 20_000 }, :>, 30
    bytes = strings.sum { |string| ObjectSpace.memsize_of(string) } + ObjectSpace.memsize_of(@segment)
    assert_operator bytes, :<=, (1 << 20) + 1_024
    assert_operator stats(:memo_bytes), :<=, 1 << 20
  end

  def test_bounds_that_are_hardly_any
    [1, 807, 4_096, 70_000].each do |limit|
      @segment.memo_bytes = limit
      20.times { |i| write("key#{i}", "a" * 640) && 3.times { @segment.read("key#{i}") } }
      assert_operator stats(:memo_bytes), :<=, limit
    end
    [-1, -(1 << 62)].each { |limit| assert_raises(ArgumentError) { @segment.memo_bytes = limit } }
    assert_raises(RangeError) { @segment.memo_bytes = 1 << 64 }
    assert_equal 70_000, @segment.memo_bytes
  end

  def test_a_value_that_would_take_all_is_not_kept
    @segment.memo_bytes = 1 << 20
    write("key", "a" * (1 << 20))
    assert_equal([0, 0], kept_and_hits { 3.times { @segment.read("key") } })
  end

  # A working set far larger than the memo passes through slowly; Strings that are then read repeatedly enter.
  def test_a_working_set_that_is_too_large_is_no_burden_and_the_next_one_gets_in
    @segment.memo_bytes = 1 << 20
    400.times { |i| write("large#{i}", "a" * 20_000) }
    20.times { 400.times { |i| @segment.read("large#{i}") } }
    assert_operator stats(:memo_evictions), :<, 2_000
    20.times { |i| write("hot#{i}", "b" * 20_000) }
    200.times { 20.times { |i| @segment.read("hot#{i}") } }
    before = stats(:memo_hits)
    20.times { |i| @segment.read("hot#{i}") }
    assert_operator stats(:memo_hits) - before, :>=, 18
  end

  # Each must be read until its copies have cost as much as an entry.
  def test_short_strings_of_which_all_fit
    1_500.times { |i| write("key#{i}", "#{i}:".ljust(1_000, "a")) }
    40.times { 1_500.times { |i| assert_read(i) } }
    assert_operator stats(:memo_entries), :>=, 1_400
    assert_equal 0, stats(:memo_evictions)
  end

  def test_short_strings_of_which_far_more_are_read_than_fit_do_not_displace_each_other
    @segment.memo_bytes = 1 << 20
    5_000.times { |i| write("key#{i}", "#{i}:".ljust(1_000, "a")) }
    random = Random.new(Minitest.seed)
    300_000.times { @segment.read("key#{random.rand(5_000)}") }
    assert_operator stats(:memo_evictions), :<, 300
    400.times { 400.times { |i| assert_read(i) } }
    assert_operator stats(:memo_entries), :>=, 400
  end

  def test_objects_of_which_far_more_are_read_than_fit_do_not_displace_each_other
    store = Tiercel.new("memory:?size=64MB", memo: "1MB", frozen: true, compress: false)
    objects = Array.new(4_000) { |i| ["key#{i}", "#{i}:".ljust(8_000, "a")] }
    objects.each { |object| store.write(object[0], object) }
    10.times { objects.each { |object| flunk object[0] unless store.read(object[0]) == object } }
    assert_operator store.stats[:memo_evictions], :<, 100
    few = objects.last(20).map(&:first)
    200.times { few.each { |key| store.read(key) } }
    few.each { |key| assert_same store.read(key), store.read(key) }
  end

  def test_closing_gives_all_back
    write("key", "a" * LONG)
    3.times { @segment.read("key") }
    @segment.close
    assert_equal [0, 0], [stats(:memo_entries), stats(:memo_bytes)]
    assert_equal "a" * LONG, @segment.read("key")
  end

  private

  def assert_read(number)
    value = @segment.read("key#{number}")
    flunk "key#{number}: #{value&.slice(0, 40).inspect}" unless value&.start_with?("#{number}:")
    value << "mine"
  end
end
