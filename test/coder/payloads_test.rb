# frozen_string_literal: true
# quick

require "test_helper"

# The payload of a frame: compressed or not, accepted or refused.
class CoderPayloadsTest < Tiercel::TestCase
  Coder = Tiercel::Coder
  Frame = Tiercel::Frame
  Parts = Tiercel::Frame::Parts
  NOW = 1_700_000_000.0

  def coder(**options) = Coder.new(**options)

  def test_another_coder_reads_it_whatever_its_own_serializer_and_compressor_are
    frame = coder(serializer: :marshal, compressor: :zlib).dump_value({ a: "0" * 5_000 }, nil, nil)

    assert_equal({ a: "0" * 5_000 }, coder(serializer: :as_json, compressor: nil).load_value(frame, NOW))
  end

  def test_a_compression_that_saves_little_is_dropped
    bytes = coder(compressor: :zlib).dump_value(Random.new(1).bytes(4_700) << "0" * 300, nil, nil)
    assert_operator bytes.bytesize, :>, 5_000
  end

  def test_the_checksum_is_optional_and_always_verified
    with, without = [true, false].map { |checksum| coder(checksum:).dump_value([1, 2], nil, nil) }

    assert_equal [1, 0], [with.getbyte(4), without.getbyte(4)]
    assert_equal [[1, 2]] * 2, [with, without].map { |frame| coder(checksum: false).load_value(frame, NOW) }
    with.setbyte(with.bytesize - 1, 3)
    assert_raises(Tiercel::MalformedFrame) { coder(checksum: false).load_value(with, NOW) }
    # Without its flag; the header's check is right.
    [4, 5].each { |position| with.setbyte(position, with.getbyte(position) ^ 1) }
    assert_raises(Tiercel::MalformedFrame) { coder(checksum: false).load_value(with, NOW) }
  end

  def test_an_entry_of_another_version_is_not_decoded
    entry = coder.load(Frame.build(0x11, "\xC1".b, parts: Parts.encode(version: "1")))

    assert entry.mismatched?("2")
  end
end
