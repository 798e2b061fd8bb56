# frozen_string_literal: true
# quick

require "test_helper"
require "zlib"

class CodecTest < Tiercel::TestCase
  # A version in front moves the payload to every alignment.
  def test_every_length_at_every_alignment_has_zlibs_checksum
    bytes = Random.new(32).bytes(1_200)
    wrong = (0..1_100).to_a.product((1..16).to_a).reject do |length, version|
      frame = Tiercel::CodecExt.dump_frame(bytes[0, length], nil, "v" * version, false, true, nil)
      Zlib.crc32(frame.byteslice(24..)) == frame.unpack1("L<", offset: 20)
    end
    assert_empty wrong
  end

  def test_a_long_checksum
    coder = Tiercel::Coder.new(checksum: true)
    frame = coder.dump_value("x" * 3_000_000, nil, nil, false)
    assert_equal "x" * 3_000_000, coder.load_value(frame, 0.0)
    assert_equal Zlib.crc32(frame.byteslice(24..)), frame.unpack1("L<", offset: 20)
  end
end
