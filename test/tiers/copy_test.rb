# frozen_string_literal: true
# quick

require "test_helper"
require "tiercel"

# The near copy of a frame, made by the extension and by Ruby.
class TiersCopyTest < Tiercel::TestCase
  include Tiercel::Frame::Layout

  Copy = Tiercel::Tiers::Copy
  LONGEST = 10_000
  PARTS = [{}, { version: "1" }, { tags: { "tag" => 1 } }, { created_at: [1.0, 5] },
           { version: "2", tags: { "t" => 2 } }, { encoding: Encoding::UTF_16LE }].freeze
  TYPES_OF_ALL = [TYPE_STRING_UTF_8, TYPE_STRING_BINARY, TYPE_PLAIN, TYPE_MARSHAL, TYPE_STRING_ENCODED].freeze

  def ruby(bytes) = Copy.send(:parsed, bytes, LONGEST)

  def frames(random)
    TYPES_OF_ALL.product(PARTS, [true, false]).map do |type, parts, checksum|
      Tiercel::Frame.build(type, random.bytes(random.rand(2_000)), checksum:, parts: encoded(parts),
                                                                  expires_at: [nil, 2e9, 1.0].sample(random:))
    end
  end

  def encoded(parts) = Tiercel::Frame::Parts.encode(**parts)

  # Both copies are equal byte for byte. Of an altered frame neither keeps a copy.
  def test_the_extension_and_ruby_agree
    random = Random.new(Minitest.seed)
    frames(random).each do |bytes|
      kept = ruby(bytes)
      kept.nil? ? assert_nil(Copy.of(bytes, LONGEST)) : assert_equal(kept, Copy.of(bytes, LONGEST))
      40.times do
        damaged = bytes.dup
        at = random.rand(2).zero? ? random.rand(HEADER_BYTES + 8) : random.rand(bytes.bytesize)
        damaged.setbyte(at % bytes.bytesize, random.rand(256))
        damaged = damaged.byteslice(0, random.rand(damaged.bytesize)) if random.rand(4).zero?
        next if damaged.bytesize < HEADER_BYTES || damaged.getbyte(TYPE_AT) == TYPE_PLACEHOLDER # see Copy.ttl
        assert_equal [ruby(damaged)], [Copy.of(damaged, LONGEST)], damaged.inspect
      end
    end
  end

  def test_what_was_checked_has_no_checksum_any_more
    checked = Tiercel::Frame.build(TYPE_STRING_UTF_8, "text", checksum: true, parts: encoded(version: "1"))
    assert_equal Tiercel::Frame.build(TYPE_STRING_UTF_8, "text", parts: encoded(version: "1")),
                 Copy.of(checked, LONGEST)
    assert_nil Copy.of(checked.dup.tap { |bytes| bytes.setbyte(-1, 0) }, LONGEST)
    versioned = Tiercel::Frame.build(TYPE_STRING_UTF_8, "text", parts: encoded(version: "1"))
    assert_same versioned, Copy.of(versioned, LONGEST)
  end

  # Ruby parses no parts of the frames that a server usually has.
  def test_no_frame_is_parsed_where_the_extension_suffices
    skip "the extension is not built" unless Tiercel::Codec.native.respond_to?(:unchecked_frame)
    skip "it was built without zlib" unless Tiercel::Codec.native::CHECKSUM
    bytes = Tiercel::Frame.build(TYPE_STRING_UTF_8, "text", checksum: true, parts: encoded(version: "1"))
    Tiercel::Frame.stub(:parse, ->(*) { flunk "parsed" }) { assert Copy.of(bytes, LONGEST) }
  end

  def test_other_objects
    skip "the extension is not built" unless Tiercel::Codec.native
    [nil, 1, :bytes].each do |object|
      assert_raises(TypeError) { Tiercel::Codec.native.unchecked_frame(object) }
    end
    ["", "12", "\xF5\x01".b, "\xFF".b * 24].each do |bytes|
      assert_nil Tiercel::Codec.native.unchecked_frame(bytes)
    end
  end
end
