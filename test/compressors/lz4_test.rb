# frozen_string_literal: true

require "test_helper"
require_relative "damage"

class LZ4CompressorTest < Tiercel::TestCase
  include Tiercel::Contracts::CompressorContract
  include CompressorDamage

  def setup
    skip "the gem of lz4 is not in this bundle" unless Tiercel::Compressors::REGISTRY.available?(:lz4)
  end

  def build_compressor = :lz4
end
