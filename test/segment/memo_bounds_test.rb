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
    write("shorter", "a" * 24_000) # each read saves less
    assert_equal([1, 1, 2], Array.new(3) { kept_and_hits { @segment.read("shorter") }.first })
  end

  def test_a_scan_leaves_nothing
    500.times { |i| write("key#{i}", "a" * LONG) }
    assert_equal([0, 0], kept_and_hits { 500.times { |i| @segment.read("key#{i}") } })
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

  def test_bounds_that_are_hardly_any
    [0, 1, 807, 4_096, 70_000].each do |limit|
      @segment.memo_bytes = limit
      20.times { |i| write("key#{i}", "a" * 640) && 3.times { @segment.read("key#{i}") } }
      assert_operator stats(:memo_bytes), :<=, limit
    end
    [-1, -(1 << 62)].each { |limit| assert_raises(ArgumentError) { @segment.memo_bytes = limit } }
    assert_raises(RangeError) { @segment.memo_bytes = 1 << 64 }
    assert_equal 70_000, @segment.memo_bytes
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
end
