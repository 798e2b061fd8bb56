# frozen_string_literal: true
# quick

require "test_helper"
require "support/near_tier"

# The bytes of near copies, and the entries that have none.
class TiersNearCopiesTest < Tiercel::TestCase
  include NearTier

  def test_no_copies_of_raw_bytes_counters_and_leases
    lease = Tiercel::Frame.build(Tiercel::Frame::Layout::TYPE_PLACEHOLDER, "")
    ["12", "raw", "", "\xF5\x01".b, "\x04\bi\x06".b, lease].each do |bytes|
      @near.change(["key"], bytes, nil) { @behind.set("key", bytes) }
      assert_equal bytes, read
      assert_nil @near.get("key"), bytes.inspect
    end
  end

  def test_copies_of_values_with_tags_versions_and_damage
    parts = { tags: { "tag" => "8 bytes." } }
    tagged = frame("text", parts: Tiercel::Frame::Parts.encode(**parts))
    versioned = frame("text", parts: Tiercel::Frame::Parts.encode(version: "1"))
    damaged = frame("text", parts: "\xFF\xFF".b)
    { tagged => true, versioned => true, damaged => false }.each do |bytes, copied|
      @near.change(["key"], bytes, nil) { @behind.set("key", bytes) }
      assert_equal bytes, read
      assert_equal copied, !@near.get("key").nil?
    end
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
      far = coder.dump_value(value, Time.now.to_f + 30, "version", true, 100)
      @behind.set("key", far)
      assert_equal far, read
      near = @near.get("key")
      assert_equal value, coder.load_value(near, nil, "version")
      assert_equal "version", coder.load(near).version
      assert_equal value.is_a?(String) && value.bytesize > 100_000, near == far
      travel(31) { assert_nil @near.get("key") }
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
end
