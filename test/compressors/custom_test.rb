# frozen_string_literal: true
# quick

require "test_helper"

class CustomCompressorTest < Tiercel::TestCase
  include Tiercel::Contracts::CompressorContract

  # The interface of Rails' compressors.
  class DeflateInflate
    def deflate(bytes) = Zlib.deflate(bytes, 1)
    def inflate(bytes) = Zlib.inflate(bytes)
  end

  class CompressDecompress
    def compress(bytes) = Zlib.deflate(bytes, 1)
    def decompress(bytes) = Zlib.inflate(bytes)
  end

  def build_compressor = DeflateInflate.new

  def test_compress_and_decompress_are_taken_as_well
    compressor = Tiercel::Compressors.build(CompressDecompress.new)

    assert_equal "text", compressor.inflate(compressor.deflate("text"))
  end

  def test_it_may_inflate_to_other_bytes_than_it_was_given
    lossy = Class.new do
      def deflate(_bytes) = "yolo"
      def inflate(bytes) = bytes == "yolo" ? "lossy" : raise("unexpected #{bytes}")
    end
    coder = Tiercel::Coder.new(compressor: lossy.new)

    assert_equal "lossy", coder.load_value(coder.dump_value("0" * 2048, nil, nil), 0.0)
  end

  def test_an_object_with_neither_pair_is_refused
    error = assert_raises(Tiercel::ConfigurationError) { Tiercel::Compressors.build(Object.new) }

    assert_match(/compressor: expected one of brotli, lz4, none, snappy, zlib, zstd, or an object with deflate/,
                 error.message)
  end

  def test_a_result_that_is_no_string_is_refused
    wrong = Class.new do
      def deflate(_bytes) = nil
      def inflate(_bytes) = nil
    end
    compressor = Tiercel::Compressors.build(wrong.new)

    assert_raises(Tiercel::SerializationError) { compressor.deflate("x") }
    assert_raises(Tiercel::SerializationError) { compressor.inflate("x") }
  end

  def test_what_it_raises_when_inflating_makes_the_frame_malformed
    coder = Tiercel::Coder.new(compressor: DeflateInflate.new, checksum: false)
    frame = coder.dump_value("0" * 2048, nil, nil)
    frame.setbyte(frame.bytesize - 1, frame.getbyte(frame.bytesize - 1) ^ 1)
    error = assert_raises(Tiercel::MalformedFrame) { coder.load_value(frame, 0.0) }

    assert_match(/could not be inflated by .*Zlib::/, error.message)
    assert coder.load(frame).mismatched?(nil)
  end

  def test_its_frames_are_malformed_where_it_is_not_configured
    frame = Tiercel::Coder.new(compressor: DeflateInflate.new).dump_value("0" * 2048, nil, nil)
    error = assert_raises(Tiercel::MalformedFrame) { Tiercel::Coder.new.load_value(frame, 0.0) }

    assert_match(/compressor of the application's own/, error.message)
  end
end
