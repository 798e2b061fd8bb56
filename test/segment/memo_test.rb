# frozen_string_literal: true
# suites: kernel

require "test_helper"
require_relative "memo_segment"

# The memo of Strings: it returns the segment's current content, whoever changed it, and works with garbage
# collections and forks. memo_bounds_test.rb tests admission and eviction.
class SegmentMemoTest < Tiercel::TestCase
  include MemoSegment

  Frame = Tiercel::Frame

  def test_versions_are_checked_though_a_string_is_kept
    store = Tiercel.new("shared:#{@path}-versions?size=8MB", memo: "4MB")
    store.write("key", "a" * LONG, version: "1")
    4.times { assert_equal "a" * LONG, store.read("key", version: "1") }
    4.times { assert_nil store.read("key", version: "2") }
    assert_equal({}, store.read_multi("key", version: "2"))
    assert_equal "a" * LONG, store.read("key")
    store.write("key", "b" * LONG, version: "2")
    4.times { assert_equal "b" * LONG, store.read("key", version: "2") }
    assert_nil store.read("key", version: "1")
    store.write("ends", "c" * LONG, version: "1", expires_in: 60)
    4.times { assert_equal "c" * LONG, store.read("ends") }
    travel(61) { assert_nil store.read("ends") }
  end

  # The keys change during a read of many keys.
  def test_many_keys_at_once
    keys = Array.new(100) { |i| "key#{i}" }
    keys.each { |key| write(key, key * 300) }
    4.times { assert_equal(keys.to_h { |key| [key, key * 300] }, @segment.read_multi(keys)) }
    assert_equal keys, @segment.get_multi(keys + ["absent"]).keys
    assert_raises(TypeError) { @segment.read_multi(["key1", nil]) }
    ends = Tiercel::Clock.now + 60
    keys.each { |key| @segment.write_string(key, key * 300, ends, nil) }
    now = Time.now
    [-> { @segment.close }, -> { keys.clear }, -> { keys.each(&:clear) }, -> { keys.map! { "key5" } },
     -> { Tiercel::Segment.replace(@path, bytes: 8 << 20) }].each do |change|
      keys.replace(Array.new(100) { |i| +"key#{i}" })
      asked = 0
      found = Time.stub(:now, -> { (asked += 1) == 3 && change.call; now }) { @segment.read_multi(keys) }
      # The one key that is being read when its String is emptied still has its value.
      assert(found.all? { |key, value| value == key * 300 || key.empty? }, change.source_location.to_s)
    end
  end

  # Another process makes each change; the next read sees it.
  def test_changes_of_other_processes
    changes = {
      "written in place" => -> { write("key", "b" * LONG) }, "written anew" => -> { write("key", "c" * LONG * 9) },
      "deleted" => -> { @segment.delete("key") }, "cleared" => -> { @segment.clear },
      "cleared by prefix" => -> { @segment.clear_prefix("ke") }, "a counter" => -> { @segment.set("key", "5") },
      "a frame" => -> { @segment.set("key", Frame.build(0x10, "a" * LONG)) },
      "replaced" => -> { Tiercel::Segment.replace(@path, bytes: 16 << 20) },
      "ended" => -> { @segment.touch("key", 0.000_001) },
      "written again" => -> { @segment.delete("key") && write("key", "d" * LONG) }
    }
    changes.each do |name, change|
      write("key", "a" * LONG)
      4.times { assert_equal "a" * LONG, @segment.read("key"), name }
      fork_and_wait(1) { change.call }
      plain = open_segment
      assert_equal_reads plain.read("key"), @segment.read("key"), name
      2.times { assert_equal_reads plain.read("key"), @segment.read("key"), name }
      plain.close
    end
  end

  def test_ends_are_looked_at_whenever_it_is_read
    now = Tiercel::Clock.now
    @segment.write_string("frame", "a" * LONG, now + 60, nil)
    @segment.write_string("entry", "a" * LONG, nil, 60)
    3.times { %w[frame entry].each { |key| assert_equal "a" * LONG, @segment.read(key) } }
    travel(61) do
      assert_predicate @segment.read("frame"), :frozen?
      assert_nil @segment.read("entry")
    end
    assert_equal "a" * LONG, @segment.read("frame")
  end

  # An old handle with young values: the garbage collector must know each of them.
  def test_an_old_handle_and_young_strings
    GC.start
    4.times { GC.start(full_mark: false) }
    50.times { |i| write("key#{i}", "#{i}:" * 20_000) && 2.times { @segment.read("key#{i}") } }
    before = stats(:memo_hits)
    5.times { GC.start(full_mark: false) && Array.new(2_000) { "x" * 2_000 } }
    50.times { |i| assert_equal "#{i}:" * 20_000, @segment.read("key#{i}") }
    assert_equal 50, stats(:memo_hits) - before
  end

  private

  def assert_equal_reads(expected, value, name)
    expected.nil? ? assert_nil(value, name) : assert_equal([expected, expected.frozen?], [value, value.frozen?], name)
  end
end
