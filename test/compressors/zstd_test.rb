# frozen_string_literal: true
# quick

require "test_helper"
require_relative "damage"

class ZstdCompressorTest < Tiercel::TestCase
  include Tiercel::Contracts::CompressorContract
  include CompressorDamage

  def setup
    skip "the gem of zstd is not in this bundle" unless Tiercel::Compressors::REGISTRY.available?(:zstd)
  end

  def build_compressor = :zstd

  def test_levels
    [-7, 1, 19].each do |level|
      compressor = Tiercel::Compressors.build([:zstd, { level: }])

      assert_equal TEXT, compressor.inflate(compressor.deflate(TEXT))
    end
  end

  def test_a_level_that_does_not_exist_is_refused
    [23, -8, "x"].each do |level|
      error = assert_raises(Tiercel::ConfigurationError) { Tiercel::Compressors.build([:zstd, { level: }]) }

      assert_match(/level: expected an Integer/, error.message)
    end
  end
end
