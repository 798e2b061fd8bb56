# frozen_string_literal: true
# quick

require "test_helper"
require_relative "damage"

class SnappyCompressorTest < Tiercel::TestCase
  include Tiercel::Contracts::CompressorContract
  include CompressorDamage

  def setup
    skip "the gem of snappy is not in this bundle" unless Tiercel::Compressors::REGISTRY.available?(:snappy)
  end

  def build_compressor = :snappy
end
