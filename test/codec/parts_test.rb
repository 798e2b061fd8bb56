# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/ruby_coder"

# The C form decodes a frame's parts with the same results as the Ruby form.
class CodecPartsTest < Tiercel::TestCase
  Parts = Tiercel::Frame::Parts
  Coder = Tiercel::Coder
  PAYLOAD = "\x93\x01\x02\x03".b # plain data, and a String
  UNDECIDING = { lease: ["0123456789abcdef".b, 1.7e9], inflated_bytes: 4, stale: [2e9, 3e9],
                 created_at: [1.6e9, 0.25] }.freeze
  TAGS = { "product:1" => "\xFF".b * 8, "größe" => "\0" * 8 }.freeze
  NOW = 1.7e9

  def test_parts_that_decide_nothing_leave_a_read_to_c
    each_choice_of(UNDECIDING) do |chosen|
      bytes = frame(0x11, Parts.encode(version: "v", **chosen), expires_at: 2e9)

      assert_equal [1, 2, 3], native(bytes, "v"), chosen
      assert_equal Coder::SLOW, native(bytes, "w"), chosen
      assert_equal Coder::EXPIRED, native(frame(0x11, Parts.encode(**chosen), expires_at: 1e9)), chosen
    end
  end

  def test_a_placeholder_is_a_miss_whatever_it_has
    each_choice_of({ version: "v", tags: TAGS, **UNDECIDING }) do |chosen|
      [nil, 1e9, 2e9].product(["", PAYLOAD]).each do |expires_at, payload|
        bytes = Tiercel::Frame.build(0x20, payload, expires_at:, parts: Parts.encode(**chosen))

        assert_equal Coder::MISS, native(bytes, "w"), chosen
        assert_nil Coder.new.load(bytes), chosen
      end
    end
  end

  def test_what_only_ruby_decides
    [[Parts.encode(version: "v") * 2, "v"],
     [Parts.encode(version: "\u00fc"), (+"\u00fc").force_encoding("US-ASCII")]].each do |parts, version|
      assert_equal Coder::FALLBACK, native(frame(0x11, parts), version)
    end
  end

  private

  def frame(type, parts, expires_at: nil) = Tiercel::Frame.build(type, PAYLOAD, expires_at:, parts:, checksum: true)

  def native(bytes, version = nil) = Tiercel::CodecExt.load_frame(bytes, NOW, version, false)

  def each_choice_of(parts)
    (0..parts.size).each { |size| parts.to_a.combination(size).each { |chosen| yield chosen.to_h } }
  end
end
