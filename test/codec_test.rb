# frozen_string_literal: true
# quick

require "test_helper"
require "zlib"

class CodecTest < Tiercel::TestCase
  def test_a_checksum_needs_no_zlib_headers
    coder = Tiercel::Coder.new(checksum: true)
    frame = coder.dump_value("x" * 3_000_000, nil, nil, false)
    assert_equal "x" * 3_000_000, coder.load_value(frame, 0.0)
    assert_equal Zlib.crc32(frame.byteslice(24..)), frame.unpack1("L<", offset: 20)
  end
end
