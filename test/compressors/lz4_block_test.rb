# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"

class LZ4BlockTest < Tiercel::TestCase
  WALKERS = [Tiercel::CodecExt].freeze

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

  def test_whole_blocks
    WALKERS.product(WHOLE.to_a) do |walker, (block, size)|
      assert_equal size, walker.lz4_block_size(block, 0), block.inspect
    end
  end

  def test_blocks_that_begin_later
    WALKERS.each { |walker| assert_equal 1, walker.lz4_block_size("xx\x10a".b, 2) }
  end

  def test_blocks_that_are_not_whole
    WALKERS.product(BROKEN) { |walker, block| assert_nil walker.lz4_block_size(block, 0), block.inspect }
  end

  # For a complete block the walk returns its exact size; for any other block nil.
  def test_the_extension_inflates_whole_blocks_alone
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

  # Random blocks, and valid ones with a changed byte: they inflate if and only if the walk finds them complete.
  def test_the_extension_inflates_what_the_walk_finds_whole
    native = Tiercel::Codec.native
    random = Random.new(3)
    block = native.lz4_deflate("<li>row</li>" * 40 + random.bytes(60) + "x" * 300).byteslice(2..)
    whole = 3_000.times.count do
      changed = block.dup.tap { |bytes| bytes.setbyte(random.rand(bytes.bytesize), random.rand(256)) }
      size = native.lz4_block_size(changed, 0)
      inflated = native.lz4_inflate(changed, 0, size || random.rand(2_000))
      assert size == inflated&.bytesize, changed.inspect
      size
    end
    assert_operator whole, :>, 500
  end
end
