# frozen_string_literal: true
# quick

require "test_helper"
require "active_support/testing/constant_stubbing"

# Payloads that claim no size, or exceed the limit when inflated.
class BombsTest < Tiercel::TestCase
  include ActiveSupport::Testing::ConstantStubbing

  NAMES = Tiercel::Compressors::NAMES.values.select { |name| Tiercel::Compressors::REGISTRY.available?(name) }.freeze

  def test_a_compressed_payload_that_claims_nothing
    NAMES.each do |name|
      compressor = Tiercel::Compressors.build(name)
      bytes = Tiercel::Frame.build(0x01, compressor.deflate("a" * 100), compressor: compressor.id)
      error = assert_raises(Tiercel::MalformedFrame) { Tiercel::Coder.new.load_value(bytes, 0.0) }
      assert_match(/has no size/, error.message)
    end
  end

  def test_a_stream_ends_at_its_limit_and_has_no_rest
    zlib = Tiercel::Compressors.build(:zlib)
    { zlib.deflate("0" * 9_999) => /more than 10 B/, "#{zlib.deflate("0" * 10)}x" => /foreign/ }.each do |bytes, text|
      assert_match text, assert_raises(Tiercel::MalformedFrame) { zlib.inflate(bytes, inflated_bytes: 10) }.message
    end
  end

  def test_a_users_compressor_is_held_to_the_limit
    custom = Class.new do
      def deflate(_bytes) = "tiny"
      def inflate(_bytes) = "0" * 5_001
    end
    coder = Tiercel::Coder.new(compressor: custom.new)
    stub_const(Tiercel::Compressors, :INFLATE_LIMIT, 5_000) do
      assert_raises(Tiercel::MalformedFrame) { coder.load_value(coder.dump_value("0" * 5_000, nil, nil), 0.0) }
      # A longer value stays as it is, because nobody could read its compressed form.
      assert_equal "0" * 5_001, coder.load_value(coder.dump_value("0" * 5_001, nil, nil), 0.0)
    end
  end
end
