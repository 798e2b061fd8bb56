# frozen_string_literal: true
# quick

require "test_helper"
require_relative "damage"

class BrotliCompressorTest < Tiercel::TestCase
  include Tiercel::Contracts::CompressorContract
  include CompressorDamage

  def setup
    skip "the gem of brotli is not in this bundle" unless Tiercel::Compressors::REGISTRY.available?(:brotli)
  end

  def build_compressor = :brotli

  def test_levels
    [0, 11].each do |level|
      compressor = Tiercel::Compressors.build([:brotli, { level: }])

      assert_equal TEXT, compressor.inflate(compressor.deflate(TEXT))
    end
  end

  def test_a_level_that_does_not_exist_is_refused
    [12, -1, "x"].each do |level|
      error = assert_raises(Tiercel::ConfigurationError) { Tiercel::Compressors.build([:brotli, { level: }]) }

      assert_match(/level: expected an Integer/, error.message)
    end
  end
end
