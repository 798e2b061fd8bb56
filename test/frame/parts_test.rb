# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"

class FramePartsTest < Tiercel::TestCase
  Parts = Tiercel::Frame::Parts
  Malformed = Tiercel::MalformedFrame

  EVERYTHING = {
    version: "products/1-20260101",
    tags: { "product:1" => [0xFEDC_BA98_7654_3210].pack("Q<"), "prices" => "8 bytes.", "größe" => "\0" * 8 },
    lease: ["0123456789abcdef".b, 1.7e9],
    encoding: Encoding::Shift_JIS,
    inflated_bytes: 4_000_000_000,
    stale: [1.7e9, 1.8e9],
    created_at: [1.6e9, 0.25],
  }.freeze

  def test_every_part_comes_back
    parts = Parts.decode(Parts.encode(**EVERYTHING))

    EVERYTHING.each { |name, value| assert_equal value, parts.public_send(name), name }
  end

  def test_tags_that_are_cut_off_anywhere_are_refused
    tags = { "a" => "8 bytes.", "bc" => "and 8..." }
    data = Parts.encode(tags:).byteslice(3..)
    whole = [data.bytesize, 2 + 1 + 8, 0]
    (0..data.bytesize).each do |size|
      bytes = [Tiercel::Frame::Layout::PART_TAGS, size].pack("CS<") + data.byteslice(0, size)
      next assert_equal tags.first(2 - whole.index(size)).to_h, Parts.decode(bytes).tags if whole.include?(size)
      assert_raises(Malformed, size.to_s) { Parts.decode(bytes) }
    end
  end

  def test_tags_that_are_too_long_are_refused
    many = (1..1_000).to_h { |number| [format("tag:%019d", number), "8 bytes."] } # 33 bytes each
    [many, { "t" * 70_000 => "8 bytes." }, { "t" * 31_991 => "8 bytes." }].each do |tags|
      error = assert_raises(Tiercel::SerializationError) { Parts.encode(tags:) }

      assert_match(/#{tags.size} tags .* at most 32000: use fewer/, error.message)
    end
  end

  def test_the_longest_version_and_the_longest_tags_share_the_room
    tags = { "t" * 31_990 => "8 bytes." }
    version = ("é" * (Tiercel::Frame::Version::MAX_BYTES / 2)).encode("UTF-8")
    [version, version.dup.force_encoding("EUC-JP"), version * 2].each do |long|
      parts = Parts.decode(Parts.encode(**EVERYTHING, version: long, tags:))

      assert_equal [tags, EVERYTHING[:created_at]], [parts.tags, parts.created_at]
      assert Tiercel::Frame::Version.same?(parts.version, long)
    end
  end

  def test_an_unknown_part_is_skipped
    bytes = [0x7F, 3, "abc"].pack("CS<a*") + Parts.encode(version: "v")

    assert_equal "v", Parts.decode(bytes).version
  end

  def test_an_unknown_critical_part_is_refused
    error = assert_raises(Malformed) { Parts.decode([0x80, 0].pack("CS<")) }

    assert_match(/0x80/, error.message)
  end

  def test_a_part_that_occurs_twice_is_refused
    assert_raises(Malformed) { Parts.decode(Parts.encode(version: "v") * 2) }
  end

  def test_cut_off_parts_are_refused
    bytes = Parts.encode(**EVERYTHING)
    ends = part_ends(bytes)
    (1...bytes.bytesize).each do |size|
      next if ends.include?(size)
      assert_raises(Malformed, "the first #{size} bytes") { Parts.decode(bytes.byteslice(0, size)) }
    end
  end

  def test_parts_of_a_wrong_size_are_refused
    [0x03, 0x05, 0x06, 0x07].each do |id|
      assert_raises(Malformed, "part #{id}") { Parts.decode([id, 5, "12345"].pack("CS<a*")) }
    end
    assert_raises(Malformed) { Parts.decode([0x01, 0].pack("CS<")) }
    assert_raises(Malformed) { Parts.decode([0x01, 1, "\x09"].pack("CS<a*")) }
    assert_raises(Malformed) { Parts.decode([0x01, 3, "\x04\x09x"].pack("CS<a*")) }
    assert_raises(Malformed) { Parts.decode([0x02, 3, "\x09\x00x"].pack("CS<a*")) }
  end

  # "internal" was nil, which raised an error in fetch.
  def test_names_that_each_process_gives_a_meaning_are_no_encodings
    %w[internal Internal external locale filesystem].each do |name|
      version = [0x04, name.bytesize].pack("CC") + name + "1"
      [[0x04, name], [0x01, version]].each do |id, data|
        assert_raises(Malformed, name) { Parts.decode([id, data.bytesize].pack("CS<") + data) }
      end
    end
  end

  def test_an_encoding_that_ruby_does_not_know_is_refused
    assert_raises(Malformed) { Parts.decode([0x04, 4, "nope"].pack("CS<a*")) }
    assert_raises(Malformed) { Parts.decode([0x04, 4, "\xFF\xFE\x00\x00"].pack("CS<a*")) }
  end

  private

  def part_ends(bytes)
    position = 0
    ends = []
    ends << (position += 3 + bytes.unpack1("S<", offset: position + 1)) while position < bytes.bytesize
    ends
  end
end
