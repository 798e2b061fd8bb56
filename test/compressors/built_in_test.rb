# frozen_string_literal: true
# quick

require "test_helper"

# Each built-in compressor passes the contract, and finds damage.
module BuiltInCompressors
  TEXT = Array.new(200) { |index| "<li class=\"row\">#{index}</li>\n" }.join.b.freeze
  NAMES = %i[brotli zlib zstd snappy lz4].freeze

  module Tests
    include Tiercel::Contracts::CompressorContract

    def setup
      skip "the gem of #{name_of} is not in this bundle" unless Tiercel::Compressors::REGISTRY.available?(name_of)
    end

    def build_compressor = name_of

    def test_truncated_payloads_and_wrong_claims_are_refused
      bytes = compressor.deflate(TEXT)
      damaged = Array.new(bytes.bytesize) { |size| [bytes.byteslice(0, size), TEXT.bytesize] }
      claims = [TEXT.bytesize - 1, TEXT.bytesize + 1, 0].map { |claim| [bytes, claim] }
      (damaged + claims).each do |some, claim|
        assert_raises(Tiercel::MalformedFrame, "#{some.bytesize} bytes, claim #{claim}") { inflated(some, claim) }
      end
    end

    def test_flipped_bits_are_refused_or_leave_the_claimed_size
      bytes = compressor.deflate(TEXT)
      (bytes.bytesize * 8).times do |bit|
        flipped = bytes.dup.tap { |copy| copy.setbyte(bit / 8, copy.getbyte(bit / 8) ^ (1 << (bit % 8))) }
        size = begin
          inflated(flipped, TEXT.bytesize).bytesize
        rescue Tiercel::MalformedFrame
          TEXT.bytesize
        end
        assert_equal TEXT.bytesize, size, "bit #{bit}"
      end
    end

    def test_payloads_in_any_encoding
      [TEXT, "é" * 1_000, "é".encode("UTF-16LE") * 1_000].each do |payload|
        back = inflated(compressor.deflate(payload), payload.bytesize)
        assert_equal [payload.b, Encoding::BINARY], [back, back.encoding]
      end
    end

    private

    def inflated(bytes, claim) = compressor.inflate(bytes, inflated_bytes: claim, limit: 1_000_000)
  end

  NAMES.each do |name|
    test_class = Class.new(Tiercel::TestCase) do
      include Tests
      define_method(:name_of) { name }
    end
    const_set("#{name.capitalize}Test", test_class)
  end

  # LZ4 is compressed by our own extension.
  class Lz4Test
    # Data without repetitions, with repetitions at every distance up to and beyond the maximum, and text.
    def self.payloads(random)
      repeated = [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 255, 65_535, 65_536].map do |distance|
        random.bytes(distance) * ((600 / distance) + 2)
      end
      words = Array.new(40) { random.bytes(1 + random.rand(12)) }
      text = "".b
      text << words[random.rand(40)] while text.bytesize < 70_000
      [*(0..40).flat_map { |size| ["a" * size, random.bytes(size)] }, random.bytes(5_000), "a" * 100_000, text,
       "ab\u00E9" * 3_000, *repeated]
    end

    def test_everything_comes_back
      self.class.payloads(Random.new(1)).each do |payload|
        deflated = compressor.deflate(payload)
        assert_equal payload.b, compressor.inflate(deflated, inflated_bytes: payload.bytesize), payload.bytesize
        assert_operator deflated.bytesize, :<=, payload.bytesize + (payload.bytesize / 255) + 21
      end
      assert_operator compressor.deflate("<li>a row</li>" * 1_000).bytesize, :<, 200
    end

    def test_the_gem_reads_what_the_extension_writes_and_the_other_way_round
      begin
        require "lz4_flex"
      rescue LoadError
        skip "lz4_flex is not in this bundle"
      end
      self.class.payloads(Random.new(2)).reject(&:empty?).each do |payload|
        assert_equal payload.b, ::Lz4Flex::VarInt.decompress(compressor.deflate(payload)).b, payload.bytesize
        assert_equal payload.b, inflated(::Lz4Flex::VarInt.compress(payload), payload.bytesize)
      end
    end
  end
end
