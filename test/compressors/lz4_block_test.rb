# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"

class LZ4BlockTest < Tiercel::TestCase
  # Blocks written by hand from the description of the format.
  WHOLE = {
    "\x00" => 0, "\x10a" => 1, "\xF0\x00#{"a" * 15}" => 15, "\xF0\xFF\x01#{"a" * 271}" => 271,
    "\x10a\x01\x00\x00" => 5, "\x1Fa\x01\x00\x00\x10b" => 21, "\x1Fa\x01\x00\xFF\x05\x00" => 280,
  }.transform_keys(&:b).freeze

  BROKEN = [
    "", "\x10", "\xF0", "\xF0\xFF", "\x10a\x01", "\x10a\x01\x00", "\x1Fa\x01\x00", "\x1Fa\x01\x00\xFF",
    "\x10a\x00\x00\x00", # a match at distance 0
    "\x10a\x02\x00\x00", # a match before the beginning
    "\x11a", # a match that is announced and missing
  ].map(&:b).freeze

  def test_only_whole_blocks_inflate
    native = Tiercel::Codec.native
    WHOLE.each do |block, size|
      assert_equal size, native.lz4_inflate(block, 0, size)&.bytesize, block.inspect
      [size - 1, size + 1, size + 100, 1 << 40].each do |other|
        assert_nil native.lz4_inflate(block, 0, other), block.inspect unless other.negative?
      end
    end
    BROKEN.product([0, 1, 5, 16, 280]) { |block, size| assert_nil native.lz4_inflate(block, 0, size), block.inspect }
    assert_equal "abcabcabcabcd", native.lz4_inflate("\x35abc\x03\x00\x10d".b, 0, 13)
    assert_nil native.lz4_inflate("\x10a".b, 3, 0), "behind the end"
  end

  # Blocks with a changed byte inflate if and only if the format says so, and to the bytes that it says.
  def test_changed_blocks_inflate_as_the_format_says
    random = Random.new(3)
    block = native.lz4_deflate("<li>row</li>" * 40 + random.bytes(60) + "x" * 300).byteslice(2..)
    whole = 1_000.times.count do
      changed = block.dup.tap { |bytes| bytes.setbyte(random.rand(bytes.bytesize), random.rand(256)) }
      expected = inflated(changed)
      size = expected&.bytesize || random.rand(2_000)
      assert expected == native.lz4_inflate(changed, 0, size), changed.inspect
      expected
    end
    assert_operator whole, :>, 150
  end

  private

  def native = Tiercel::CodecExt

  # The bytes of a block, or nil if it is not whole: the description of the format, step by step.
  def inflated(block, result = "".b, at = 0)
    catch(:end) do
      byte = -> { block.getbyte(at)&.tap { at += 1 } || throw(:end) }
      length = lambda do |nibble|
        nibble += more = byte.call while nibble >= 15 && (more.nil? || more == 255)
        nibble
      end
      while true
        token = byte.call
        literals = length.call(token >> 4)
        throw :end if literals > block.bytesize - at
        result << block.byteslice(at, literals)
        throw :end, (result if (token & 15).zero?) if (at += literals) == block.bytesize
        distance = byte.call | byte.call << 8
        throw :end unless distance.between?(1, result.bytesize)
        (length.call(token & 15) + 4).times { result << result.byteslice(-distance) }
      end
    end
  end
end
