# frozen_string_literal: true
# suites: kernel

require "test_helper"
require_relative "memo_segment"

# The memo of Strings: it returns the segment's current content, whoever changed it, and works with garbage
# collections and forks. memo_bounds_test.rb tests admission and eviction.
class SegmentMemoTest < Tiercel::TestCase
  include MemoSegment

  Frame = Tiercel::Frame

  # Through the store: compressed, with a record's version, in any encoding, with a checksum.
  def test_strings_that_ruby_decodes
    text = "Zażółć gęślą jaźń. " * 2_000
    { compressed: { compress: true, compress_threshold: 1 }, versioned: { version: "v1" },
      both: { compress: true, compress_threshold: 1, version: "v1" }, checked: { checksum: true } }.each do |name, opts|
      store = Tiercel.new("shared:#{@path}-#{name}?size=8MB", memo: "4MB", **opts.slice(:checksum))
      [text, text.encode("ISO-8859-2"), text.encode("UTF-16LE"), text.b].each_with_index do |string, index|
        key = "#{name}#{index}"
        store.write(key, string, **opts.except(:checksum))
        hits = store.stats[:memo_hits]
        values = Array.new(5) { store.read(key) } + [store.read_multi(key)[key], store.fetch(key) { flunk }]
        assert_equal([[string, string.encoding, false]], values.map { |v| [v, v.encoding, v.frozen?] }.uniq, key)
        assert_equal 5, store.stats[:memo_hits] - hits, key
        values.last << "x".encode(string.encoding)
        assert_equal string, store.read(key)
      end
    end
  end

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

  # With all options and subscribers, a value that is read again is kept and returned.
  def test_every_usual_call_is_served
    record = Struct.new(:cache_key, :cache_version).new("records/1", "7")
    calls = {
      read: ->(cache) { cache.read("key", version: "7") }, fetch: ->(cache) { cache.fetch("key") { flunk } },
      ends: ->(cache) { cache.fetch("key", expires_in: 60, race_condition_ttl: 5, skip_nil: true) { flunk } },
      version: ->(cache) { cache.fetch("key", version: "7") { flunk } },
      record: ->(cache) { cache.read(record) },
      fetch_record: ->(cache) { cache.fetch(record, expires_in: 5) { flunk } },
      multi: ->(cache) { cache.read_multi("key")["key"] }, records: ->(cache) { cache.read_multi(record).values.first },
      multi_version: ->(cache) { cache.read_multi("key", version: "7")["key"] },
      multi_namespace: ->(cache) { cache.read_multi("key", namespace: "other")["key"] },
      fetch_multi: ->(cache) { cache.fetch_multi("key", expires_in: 60) { flunk }["key"] },
      heard: ->(cache) { ActiveSupport::Notifications.subscribed(->(*) {}, /cache_/) { cache.read("key") } }
    }
    calls.each do |name, call|
      cache = Tiercel.new("memory:", memo: "1MB")
      ["key", record].each { |written| cache.write(written, "a" * LONG, version: "7") }
      cache.write("key", "a" * LONG, namespace: "other")
      values = Array.new(5) { call.call(cache) }
      assert_equal [["a" * LONG, false]], values.map { |value| [value, value.frozen?] }.uniq, name
      assert_equal [1, 3], cache.stats.values_at(:memo_entries, :memo_hits), name
    end
  end

  # #keep checks its arguments; the memo never returns a value of another file or another entry.
  def test_what_is_kept_has_to_be_frozen_and_of_its_token
    @segment.set("key", Frame.build(Frame::Layout::TYPE_STRING_ENCODED, "a" * LONG))
    @segment.read("key")
    frame, token = @segment.read("key")
    assert_predicate frame, :frozen?
    assert_raises(ArgumentError) { @segment.keep("key", token, [1], frame, nil, 100) }
    assert_raises(TypeError) { @segment.keep("key", token, [1].freeze, frame, nil, nil) }
    assert_raises(TypeError) { @segment.keep(:key, token, "a", frame, nil, nil) }
    assert_raises(TypeError) { @segment.keep("key", token, "a", nil, nil, nil) }
    ["", "a" * 20, nil].each { |wrong| refute @segment.keep("key", wrong, "a" * LONG, frame, nil, nil) }
    refute @segment.keep("key", token, "a" * LONG, "short", nil, nil)
    refute @segment.keep("key", token, 5, frame, nil, 10)
    refute @segment.keep("key", token, [1].freeze, frame, nil, 1 << 40)
    assert @segment.keep("key", token, "b" * LONG, frame, nil, nil)
    refute @segment.keep("key", token, "b" * LONG, frame, nil, nil), "no read was counted since"
    assert_equal "b" * LONG, @segment.read("key")
    @segment.set("key", Frame.build(Frame::Layout::TYPE_STRING_ENCODED, "c" * LONG))
    assert_includes @segment.read("key"), "c" * LONG
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

  # Broken encodings, dummy encodings, encodings incompatible with ASCII; and an empty String.
  def test_encodings_of_all_kinds
    store = Tiercel.new("shared:#{@path}-encodings?size=8MB", memo: "1MB")
    texts = [("\xFF\x00" * LONG).b, "\xFF\xC3" * LONG, ("é" * LONG).encode("UTF-16LE"),
             ("ab" * LONG).concat("c").force_encoding("UTF-16LE"), ("あ" * LONG).encode("Shift_JIS"),
             ("a" * LONG).force_encoding("UTF-7"), ("a" * LONG).force_encoding("UTF-16"), +"", "".b]
    texts.each_with_index do |text, index|
      store.write("key#{index}", text)
      values = Array.new(5) { store.read("key#{index}") }
      values.each { |value| assert_equal same(text), same(value), text.encoding.to_s }
      values.last.force_encoding("BINARY") << "x"
      assert_equal same(text), same(store.read("key#{index}")), text.encoding.to_s
    end
    assert_operator store.stats[:memo_entries], :>=, 7
  end

  def test_a_fork_of_a_fork
    20.times { |i| write("key#{i}", "#{i}:" * LONG) && 3.times { @segment.read("key#{i}") } }
    fork_and_wait(1) do
      collect
      write("key2", "child" * LONG)
      fork_and_wait(1) do
        collect
        write("key3", "grandchild" * LONG)
        20.times { |i| raise "key#{i}" unless [2, 3].include?(i) || @segment.read("key#{i}") == "#{i}:" * LONG }
        @segment.read("key2") == "child" * LONG or raise "key2"
      end
      @segment.read("key3") == "grandchild" * LONG or raise "key3"
    end
    assert_equal ["child" * LONG, "grandchild" * LONG], [@segment.read("key2"), @segment.read("key3")]
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

  # Another file has the same bytes, of the same length, at the same position.
  def test_another_file_in_its_place
    path = File.join(@directory, "other")
    options = { bytes: 4 << 20, shards: 1, hash_key: "k" * 16 }
    %w[a b c].each do |letter|
      segment = Tiercel::Segment.open(path, **options)
      @other ||= Tiercel::Segment.open(path, **options).tap { |other| other.memo_bytes = 1 << 20 }
      segment.write_string("key", letter * LONG, nil, nil)
      4.times { assert_equal letter * LONG, @other.read("key") }
      Tiercel::Segment.remove(path)
      segment.close
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

  # Time.now is Ruby code that may do anything to the handle in the middle of its read.
  def test_a_handle_that_is_changed_in_the_midst_of_a_read
    ends = Tiercel::Clock.now + 60
    changes = { close: -> { @segment.close }, none: -> { @segment.memo_bytes = 0 },
                more: -> { @segment.memo_bytes = 2 << 20 }, compact: -> { collect },
                write: -> { @segment.write_string("key", "b" * LONG, ends, nil) } }
    changes.each do |name, change|
      @segment.memo_bytes = 1 << 20
      @segment.write_string("key", "a" * LONG, ends, nil)
      3.times { @segment.read("key") }
      now = Time.now
      value = Time.stub(:now, -> { change.call && now || now }) { @segment.read("key") }
      assert_includes ["a" * LONG, "b" * LONG], value, name
      3.times { assert_equal name == :write ? "b" * LONG : "a" * LONG, @segment.read("key"), name }
    end
  end

  private

  def same(text) = [text, text.encoding, text.valid_encoding?, text.frozen?]

  def assert_equal_reads(expected, value, name)
    expected.nil? ? assert_nil(value, name) : assert_equal([expected, expected.frozen?], [value, value.frozen?], name)
  end

  def collect
    GC.start
    GC.compact if GC.respond_to?(:compact)
  end

end
