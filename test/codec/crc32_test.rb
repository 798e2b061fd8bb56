# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"

# Compares the checksum in C with zlib's.
class CodecCrc32Test < Tiercel::TestCase
  ALIGNMENTS = 16
  BYTES = Random.new(32).bytes(1_200).freeze

  def setup
    skip "the extension is not built, or without zlib" unless Tiercel::Codec.native.respond_to?(:crc32)
  end

  def test_every_length_at_every_alignment
    wrong = (0..1_100).flat_map do |length|
      (0...ALIGNMENTS).flat_map do |from|
        bytes = BYTES.byteslice(from, length)
        native.crc32(bytes, 0) == Zlib.crc32(bytes) ? [] : [[length, from]]
      end
    end
    assert_empty wrong
  end

  def test_a_part_goes_on_where_another_ended
    (0..BYTES.bytesize).each do |cut|
      front = native.crc32(BYTES.byteslice(0, cut), 0)

      assert_equal Zlib.crc32(BYTES), native.crc32(BYTES.byteslice(cut..), front), "cut at #{cut}"
    end
  end

  private

  def native = Tiercel::Codec.native
end
