# frozen_string_literal: true
# quick

require "test_helper"
require_relative "damage"

class ZlibCompressorTest < Tiercel::TestCase
  include Tiercel::Contracts::CompressorContract
  include CompressorDamage

  def build_compressor = :zlib

  def test_levels
    [1, 9].each do |level|
      compressor = Tiercel::Compressors.build([:zlib, { level: }])

      assert_equal TEXT, compressor.inflate(compressor.deflate(TEXT))
    end
  end

  def test_a_level_that_does_not_exist_is_refused
    [10, -1, "x"].each do |level|
      error = assert_raises(Tiercel::ConfigurationError) { Tiercel::Compressors.build([:zlib, { level: }]) }

      assert_match(/level: expected an Integer/, error.message)
    end
  end
end
