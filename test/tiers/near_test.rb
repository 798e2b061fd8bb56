# frozen_string_literal: true

require "test_helper"
require "tiercel/tiers"
require "tiercel/backends/shared"
require "tiercel/backends/memory"

# A near tier over a segment: no change in the farther tiers leaves a stale copy.
class TiersNearTest < Tiercel::TestCase
  # A farther tier with the few methods that these tests need.
  class Behind
    attr_reader :bytes

    def initialize = @bytes = {}
    def get(key) = @bytes[key]
    def set(key, value) = (@bytes[key] = value) && true
  end

  def setup
    @near = Tiercel::Tiers::Near.new(Tiercel::Backends::MemorySegment.build(nil, {}), ttl: 60)
    @behind = Behind.new
  end

  def frame(text, **) = Tiercel::Frame.build(Tiercel::Frame::Layout::TYPE_STRING_UTF_8, text, **)

  def write(text, key: "key", &)
    @near.change([key], frame(text), nil) do
      yield if block_given?
      @behind.set(key, frame(text))
    end
  end

  def read(key: "key") = @near.get(key) || @near.filled(key) { @behind.get(key) }

  def test_a_write_leaves_a_copy_and_a_read_brings_one
    assert_equal true, write("one")
    assert_equal frame("one"), @near.get("key")
    @behind.set("other", frame("two"))
    assert_equal frame("two"), read(key: "other")
    assert_equal frame("two"), @near.get("other")
  end

  def test_no_copy_of_what_was_not_stored
    assert_equal false, @near.change(["key"], frame("one"), nil) { false }
    assert_equal [Object], @near.change(["key"], frame("one"), nil) { [Object] }
    assert_nil @near.get("key")
  end

  def test_a_late_fill_loses_against_a_write_and_a_delete
    @behind.set("key", frame("old"))
    read = @near.filled("key") do
      held_up = @behind.get("key")
      write("new")
      held_up
    end
    assert_equal frame("old"), read
    assert_equal frame("new"), @near.get("key")

    @near.filled("key") do
      held_up = @behind.get("key")
      @near.change(["key"]) { @behind.bytes.delete("key") }
      held_up
    end
    assert_nil @near.get("key")
  end

  def test_a_read_in_the_midst_of_a_write_fills_nothing
    @behind.set("key", frame("old"))
    read
    write("new") do
      assert_nil @near.get("key")
      assert_equal frame("old"), read
      assert_nil @near.get("key")
    end
    assert_equal frame("new"), @near.get("key")
  end

  def test_of_two_writers_at_once_neither_leaves_a_copy
    write("one") do
      write("two")
      assert_nil @near.get("key")
    end
    assert_nil @near.get("key")
    assert_equal frame("one"), read
    assert_equal frame("one"), @near.get("key")
  end

  def test_a_fill_leaves_alone_what_is_there
    epoch = @near.backend.segment.near_epoch("key")
    assert_equal true, @near.backend.segment.near_fill("key", "later", nil, epoch)
    assert_equal false, @near.backend.segment.near_fill("key", "earlier", nil, epoch)
    assert_equal "later", @near.get("key")
  end

  def test_a_late_fill_loses_against_a_clear
    @behind.set("a key", frame("old"))
    [nil, "a "].each do |prefix|
      @near.filled("a key") do
        held_up = @behind.get("a key")
        @near.clear(prefix) { nil }
        held_up
      end
      assert_nil @near.get("a key")
      @near.clear(prefix) { read(key: "a key") }
      assert_nil @near.get("a key")
    end
  end

  # The change may still arrive, so the key is not filled until the writer is forgotten. Other keys' copies stay.
  def test_a_change_that_ended_in_doubt_is_not_over
    @behind.set("key", frame("old"))
    write("other's", key: "other")
    read
    assert_raises(Tiercel::TimedOut) { @near.change(["key"]) { raise Tiercel::TimedOut } }
    assert_equal frame("old"), read
    @behind.set("key", frame("arrived late"))
    assert_equal frame("arrived late"), read
    assert_equal frame("other's"), @near.get("other")
  end

  def test_an_interrupted_change_is_not_over
    @behind.set("key", frame("old"))
    catch(:out) { @near.change(["key"]) { throw :out } }
    read
    assert_nil @near.get("key")
  end

  def test_a_refusal_is_an_answer
    @behind.set("key", frame("old"))
    [Tiercel::Refused, Tiercel::BreakerOpen, Tiercel::PoolExhausted, Tiercel::NotACounter].each do |error|
      assert_raises(error) { @near.change(["key"]) { raise error } }
      assert_nil @near.get("key")
      read
      assert_equal frame("old"), @near.get("key")
    end
  end

  def test_a_batch
    keys = (1..3_000).map { |index| "key #{index}" }
    keys.each { |key| @behind.set(key, frame("old")) }
    assert_equal 3_000, @near.filled_multi(keys) { @behind.bytes.dup }.size
    assert_equal frame("old"), @near.get("key 7")
    late = @near.filled_multi(keys) do
      found = @behind.bytes.dup
      @near.change(keys) { keys.each { |key| @behind.set(key, frame("new")) } }
      found
    end
    assert_equal frame("old"), late["key 7"]
    assert_empty @near.get_multi(keys)
  end

  def test_copies_end_with_the_tier_and_with_the_value
    write("plain")
    ending = frame("ending", expires_at: Time.now.to_f + 5)
    @behind.set("ending", ending)
    read(key: "ending")
    @near.change(["short"], frame("short"), 3) { true }
    travel(4) do
      assert_equal frame("plain"), @near.get("key")
      assert_equal ending, @near.get("ending")
      assert_nil @near.get("short")
    end
    travel(6) do
      assert_nil @near.get("ending")
      assert_equal ending, read(key: "ending")
      assert_nil @near.get("ending")
    end
    travel(61) { assert_nil @near.get("key") }
  end

  def test_no_copies_of_raw_bytes_counters_and_leases
    lease = Tiercel::Frame.build(Tiercel::Frame::Layout::TYPE_PLACEHOLDER, "")
    ["12", "raw", "", "\xF5\x01".b, "\x04\bi\x06".b, lease].each do |bytes|
      @near.change(["key"], bytes, nil) { @behind.set("key", bytes) }
      assert_equal bytes, read
      assert_nil @near.get("key"), bytes.inspect
    end
  end

  def test_no_copies_of_values_with_tags
    parts = { tags: { "tag" => 1 } }
    tagged = frame("text", parts: Tiercel::Frame::Parts.encode(**parts))
    versioned = frame("text", parts: Tiercel::Frame::Parts.encode(version: "1"))
    damaged = frame("text", parts: "\xFF\xFF".b)
    { tagged => false, versioned => true, damaged => false }.each do |bytes, copied|
      @near.change(["key"], bytes, nil) { @behind.set("key", bytes) }
      assert_equal bytes, read
      assert_equal copied, !@near.get("key").nil?
    end
  end

  def test_no_copy_of_a_value_whose_end_is_no_number
    damaged = frame("text").dup
    damaged[Tiercel::Frame::Layout::EXPIRES_AT_AT, 8] = [Float::NAN].pack("E")
    @behind.set("key", damaged)
    assert_equal damaged, read
    assert_nil @near.get("key")
  end

  def test_a_plain_string_loses_its_checksum_once_it_was_right
    checked = frame("text", checksum: true)
    damaged = checked.dup.tap { |bytes| bytes.setbyte(-1, 0) }
    @behind.set("key", checked)
    assert_equal checked, read
    assert_equal "text", @near.backend.segment.read("key")
    @behind.set("damaged", damaged)
    assert_equal damaged, read(key: "damaged")
    assert_nil @near.get("damaged")
  end

  # The bytes are the same as from a store over the segment alone.
  def test_copies_are_not_compressed
    coder = Tiercel::Coder.new(serializer: :auto, compressor: :zlib, checksum: true)
    texts = ["text " * 500, { "key" => "text " * 500 }, ("text " * 500).encode("UTF-16LE"), "long " * 40_000]
    texts.each do |value|
      far = coder.dump_value(value, Time.now.to_f + 60, "version", true, 100)
      @behind.set("key", far)
      assert_equal far, read
      near = @near.get("key")
      assert_equal value, coder.load_value(near, nil, "version")
      assert_equal "version", coder.load(near).version
      assert_equal value.is_a?(String) && value.bytesize > 100_000, near == far
      @near.forget(["key"])
    end
  end

  def test_a_compressed_value_that_is_damaged_or_foreign
    checked = Tiercel::Coder.new(serializer: :auto, compressor: :zlib, checksum: false)
    far = checked.dump_value("text " * 500, nil, nil, true, 100)
    damaged = far.dup.tap { |bytes| bytes.setbyte(-9, bytes.getbyte(-9) ^ 0xFF) }
    foreign = Tiercel::Frame.build(1, "payload", compressor: Tiercel::Frame::Layout::COMPRESSOR_CUSTOM)
    { damaged => nil, foreign => foreign }.each do |bytes, copy|
      @behind.set("key", bytes)
      assert_equal bytes, read
      copy.nil? ? assert_nil(@near.get("key")) : assert_equal(copy, @near.get("key"))
      @near.forget(["key"])
    end
  end

  # The segment itself copies such a frame; {Copy} decides about any other one.
  def test_a_frame_that_is_a_copy_as_it_is_goes_past_ruby
    ending = frame("ending", expires_at: Time.now.to_f + 5)
    Tiercel::Tiers::Copy.stub(:of, ->(*) { flunk "asked for a copy" }) do
      { "key" => frame("plain"), "ending" => ending }.each do |key, bytes|
        @behind.set(key, bytes)
        assert_equal bytes, read(key:)
        assert_equal bytes, @near.get(key)
      end
      @near.change(["short"], frame("short"), 3) { true }
    end
    travel(4) { assert_nil @near.get("short") }
    travel(4) { assert_equal ending, @near.get("ending") }
    travel(6) { assert_nil @near.get("ending") }
  end

  # For each frame, the result equals that of Copy and near_fill.
  def test_which_frames_the_segment_fills_by_itself
    lease = Tiercel::Frame.build(Tiercel::Frame::Layout::TYPE_PLACEHOLDER, "")
    ended = frame("ended", expires_at: Time.now.to_f - 1)
    endless = frame("text").tap { |bytes| bytes[Tiercel::Frame::Layout::EXPIRES_AT_AT, 8] = [Float::NAN].pack("E") }
    parts = frame("text", parts: Tiercel::Frame::Parts.encode(version: "1"))
    { frame("text") => true, Tiercel::Frame.build(0x11, "other type") => true, frame("") => true,
      ended => false, endless => false, lease => nil, frame("text", checksum: true) => nil, parts => nil,
      Tiercel::Frame.build(1, "payload", compressor: 1) => nil, frame("text").byteslice(0, 23) => nil,
      "" => nil, "12" => nil }.each { |bytes, filled| assert_filled filled, bytes }
    assert_raises(TypeError) { @near.backend.segment.near_fill_frame("key", nil, 60, 1) }
    assert_raises(TypeError) { @near.backend.segment.near_fill_frame("key", frame("text"), "60", 1) }
  end

  def assert_filled(filled, bytes)
    segment = @near.backend.segment
    segment.delete("key")
    answer = segment.near_fill_frame("key", bytes, 60, segment.near_epoch("key"))
    filled.nil? ? assert_nil(answer, bytes.inspect) : assert_equal(filled, answer, bytes.inspect)
    filled ? assert_equal(bytes, segment.get("key")) : assert_nil(segment.get("key"), bytes.inspect)
    assert_equal false, segment.near_fill_frame("late", bytes, 60, 0) if filled
  end
  private :assert_filled

  def test_what_was_begun_is_checked
    segment = @near.backend.segment
    ["", "x" * 16, "\xFF" * 16, "\xFF" * 32].each do |bytes|
      assert_raises(ArgumentError) { segment.near_end(["key"], bytes, true) }
      assert_raises(ArgumentError) { segment.near_fill("key", "bytes", nil, bytes) }
    end
    assert_raises(TypeError) { segment.near_begin(["key", 1]) }
    assert_raises(TypeError) { segment.near_begin("key") }
    write("after that")
    assert_equal frame("after that"), @near.get("key")
  end

  # A new file that replaces another one does not know the writers in progress.
  def test_a_segment_that_was_replaced_meanwhile
    with_tmpdir do |dir|
      open = -> { Tiercel::Backends::Shared.build(Tiercel::BackendURL.parse("shared:#{dir}/segment?size=1MB"), {}) }
      shared = Tiercel::Tiers::Near.new(open.call, ttl: 60)
      epoch = shared.backend.segment.near_epoch("key")
      shared.change(["key"], frame("new"), nil) do
        Tiercel::Segment.remove(shared.backend.segment.path)
        fresh = Tiercel::Tiers::Near.new(open.call, ttl: 60)
        fresh.filled("key") { frame("old") }
        fresh.close
        true
      end
      travel_to_the_new_file(shared)
      assert_nil shared.get("key")
      assert_equal false, shared.backend.segment.near_fill("key", "old", nil, epoch)
    ensure
      shared&.close
    end
  end

  private

  # The path is checked once a second, and when the segment is opened.
  def travel_to_the_new_file(near) = near.close
end
