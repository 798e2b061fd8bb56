# frozen_string_literal: true
# quick

require "test_helper"
require_relative "damage"

class LZ4CompressorTest < Tiercel::TestCase
  include Tiercel::Contracts::CompressorContract
  include CompressorDamage

  def setup
    skip "the gem of lz4 is not in this bundle" unless Tiercel::Compressors::REGISTRY.available?(:lz4)
  end

  def build_compressor = :lz4

  # Data without repetitions, with repetitions at every distance up to and beyond the maximum, and text.
  def self.payloads(random)
    repeated = [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 255, 65_535, 65_536].map do |distance|
      piece = random.bytes(distance)
      piece * ((600 / distance) + 2)
    end
    words = Array.new(40) { random.bytes(1 + random.rand(12)) }
    text = "".b
    text << words[random.rand(40)] while text.bytesize < 70_000
    [*(0..40).map { |size| "a" * size }, *(0..40).map { |size| random.bytes(size) }, random.bytes(5_000), "a" * 100_000,
     text, "ab\u00E9" * 3_000, *repeated]
  end

  def test_everything_comes_back
    self.class.payloads(Random.new(1)).each do |payload|
      deflated = compressor.deflate(payload)
      assert_equal payload.b, compressor.inflate(deflated, inflated_bytes: payload.bytesize), payload.bytesize
      assert_operator deflated.bytesize, :<=, payload.bytesize + (payload.bytesize / 255) + 21
    end
  end

  # A process of an earlier version shares a cache with others.
  def test_the_gem_reads_what_the_extension_writes_and_the_other_way_round
    begin
      require "lz4_flex"
    rescue LoadError
      skip "lz4_flex is not in this bundle"
    end
    self.class.payloads(Random.new(2)).reject(&:empty?).each do |payload|
      assert_equal payload.b, ::Lz4Flex::VarInt.decompress(compressor.deflate(payload)).b, payload.bytesize
      assert_equal payload.b, compressor.inflate(::Lz4Flex::VarInt.compress(payload)), payload.bytesize
    end
  end

  def test_what_repeats_gets_small
    assert_operator compressor.deflate("<li>a row</li>" * 1_000).bytesize, :<, 200
  end
end
