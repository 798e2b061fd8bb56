# frozen_string_literal: true
# quick

require "test_helper"

class FrameTest < Tiercel::TestCase
  include Tiercel::Frame::Layout

  Frame = Tiercel::Frame
  Parts = Tiercel::Frame::Parts
  Malformed = Tiercel::MalformedFrame

  def test_the_header_is_laid_out_as_docs_frame_md_says
    parts = Parts.encode(version: "v")
    bytes = Frame.build(TYPE_STRING_UTF_8, "payload", expires_at: 1.5, parts:, checksum: true)

    assert_equal Encoding::BINARY, bytes.encoding
    assert_equal [0xF5, 1, 0x01, 0x00, 0x01], bytes.bytes.first(5)
    assert_equal parts.bytesize, bytes.unpack1("@6S<")
    assert_in_delta 1.5, bytes.unpack1("@8E"), 0
    assert_equal 7, bytes.unpack1("@16L<")
    assert_equal Zlib.crc32("#{parts}payload"), bytes.unpack1("@20L<")
    assert_equal 0xA5, bytes.bytes.first(24).reduce(:^)
    assert_equal "#{parts}payload", bytes.byteslice(24..)
  end

  def test_no_end_is_infinity_in_the_header_and_nil_outside
    bytes = Frame.build(TYPE_PLAIN, "\xC0".b)

    assert_equal Float::INFINITY, bytes.unpack1("@8E")
    assert_nil Frame.parse(bytes).expires_at
  end

  def test_a_payload_in_any_encoding_is_its_bytes
    ["é", "é".encode("UTF-16LE"), "\xFF".b, ""].each do |payload|
      frame = Frame.parse(Frame.build(TYPE_STRING_BINARY, payload, checksum: true))

      assert_equal payload.b, frame.payload
      assert_equal Encoding::BINARY, frame.payload.encoding
    end
  end

  def test_numbers_of_later_versions_are_refused
    { 1 => 2, 2 => 0x30, 3 => 0x0A, 4 => 0x04 }.each do |position, number|
      bytes = sample(checksum: false)
      bytes.setbyte(position, number)

      assert_malformed recheck(bytes), "#{number} at #{position}"
    end
  end

  def test_an_end_that_is_not_a_number_is_refused
    bytes = sample(checksum: false)
    bytes[8, 8] = [Float::NAN].pack("E")

    assert_malformed recheck(bytes), "NaN"
  end

  def test_foreign_bytes_are_refused
    ["", "x", "\xF5".b, "\x00" * 24, "\xF5" * 24, "hello world, this is no frame at all"].each do |bytes|
      assert_malformed bytes.b, bytes.inspect
    end
  end

  def test_the_message_says_why_and_how_the_bytes_begin
    error = assert_raises(Malformed) { Frame.parse("not a frame, by its first byte") }

    assert_match(/not a frame, in 30 bytes that begin with 6e6f742061206672/, error.message)
  end

  def test_no_frame_begins_as_a_rails_payload_or_a_counter_does
    refute_includes [0x00, 0x01, 0x04, 0x78, 0xCC, 0x2D, *0x30..0x39], MAGIC
  end

  def test_numbers_are_used_once
    [TYPES, COMPRESSORS].each { |numbers| assert_equal numbers.uniq, numbers }
  end

  def test_one_part_without_decoding_the_others
    parts = Parts.encode(version: "1", tags: { "a" => "8 bytes." }, exclusive: true)
    frame = Frame.build(TYPE_PLAIN, "\xC0".b, parts:)
    assert_equal "\x01\x00a8 bytes.".b, Frame.part(frame, PART_TAGS)
    assert_equal "", Frame.part(frame, PART_EXCLUSIVE)
    assert_nil Frame.part(frame, PART_LEASE)
    assert_nil Frame.part("12", PART_TAGS)
    frame.bytesize.times { |at| Frame.part(frame.byteslice(0, at), PART_EXCLUSIVE) } # raises nothing
  end

  def test_a_copy_of_an_encrypted_frame_is_encrypted
    frame = Frame.build(TYPE_PLAIN, "sealed", encrypted: true)
    assert_predicate Frame.parse(Frame.copy(frame, { computed_at: 5 })), :encrypted?
  end

  # Both extensions read and write frames; different constants in them would damage data.
  def test_the_layout_stands_once_in_c
    text = Dir[File.expand_path("../ext/**/*.{c,h}", __dir__)].map { |path| File.read(path) }.join
    names = text.scan(/^ +(FRAME_[A-Z0-9_]+) = /).flatten
    assert_includes names, "FRAME_HEADER_BYTES"
    assert_equal names.uniq, names
  end

  private

  def sample(checksum:)
    Frame.build(TYPE_PLAIN, "\x93\x01\x02\x03".b, expires_at: 1.7e9, checksum:,
                                                  parts: Parts.encode(version: "1", created_at: [1.6e9, 0.5]))
  end

  def assert_malformed(bytes, message) = assert_raises(Malformed, message) { Frame.parse(bytes) }

  # Recomputes the header check.
  def recheck(bytes)
    bytes.setbyte(5, 0)
    bytes.setbyte(5, bytes.bytes.first(24).reduce(:^) ^ 0xA5)
    bytes
  end
end
