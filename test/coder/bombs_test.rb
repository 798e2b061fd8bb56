# frozen_string_literal: true
# quick

require "test_helper"

# Payloads that would exceed `inflate_limit` when inflated.
class BombsTest < Tiercel::TestCase
  LIMIT = 1024 * 1024
  NAMES = Tiercel::Compressors::NAMES.values.select { |name| Tiercel::Compressors::REGISTRY.available?(name) }.freeze
  Frame = Tiercel::Frame

  def test_a_claimed_size_above_the_limit
    NAMES.each do |name|
      compressor = Tiercel::Compressors.build(name)
      error = refuse(frame(compressor, "\0" * (LIMIT + 1), LIMIT + 1))

      assert_match(/claims to inflate to 1.0 MB, more than inflate_limit \(1.0 MB\)/, error.message)
    end
  end

  def test_a_real_size_above_what_is_claimed
    NAMES.each { |name| assert refuse(frame(Tiercel::Compressors.build(name), "\0" * (64 * LIMIT), 1_000)) }
  end

  def test_a_compressed_payload_that_claims_nothing
    NAMES.each do |name|
      compressor = Tiercel::Compressors.build(name)
      error = refuse(Frame.build(0x01, compressor.deflate("a" * 100), compressor: compressor.id))

      assert_match(/has no size/, error.message)
    end
  end

  def test_a_value_as_large_as_the_limit_is_read
    NAMES.each do |name|
      coder = Tiercel::Coder.new(compressor: name, inflate_limit: LIMIT)

      assert_equal LIMIT, coder.load_value(coder.dump_value("0" * LIMIT, nil, nil), 0.0).bytesize
    end
  end

  def test_a_users_compressor_is_held_to_the_limit
    custom = Class.new do
      def deflate(_bytes) = "tiny"
      def inflate(_bytes) = "0" * (LIMIT + 1)
    end
    coder = Tiercel::Coder.new(compressor: custom.new, inflate_limit: LIMIT)

    assert_raises(Tiercel::MalformedFrame) { coder.load_value(coder.dump_value("0" * 5_000, nil, nil), 0.0) }
  end

  def test_payloads_of_rails_are_held_to_the_limit
    bomb = "\x01".b + Zlib.deflate(Marshal.dump(["\0" * (64 * LIMIT)]))

    assert_raises(Tiercel::MalformedFrame) { Tiercel::Coder.new(inflate_limit: LIMIT).load(bomb) }
  end

  private

  def frame(compressor, payload, claim)
    parts = Frame::Parts.encode(inflated_bytes: claim)
    Frame.build(0x01, compressor.deflate(payload), compressor: compressor.id, parts:)
  end

  def refuse(frame)
    assert_raises(Tiercel::MalformedFrame) { Tiercel::Coder.new(inflate_limit: LIMIT).load_value(frame, 0.0) }
  end
end
