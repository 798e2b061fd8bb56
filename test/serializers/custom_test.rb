# frozen_string_literal: true
# quick

require "test_helper"

class CustomSerializerTest < Tiercel::TestCase
  include Tiercel::Contracts::SerializerContract

  # A user's own serializer.
  class Own
    def dump(value) = "own:#{Marshal.dump(value)}"
    def load(bytes) = Marshal.load(bytes.byteslice(4..))
  end

  def build_serializer = Own.new

  def test_a_result_that_is_no_string_is_refused
    wrong = Class.new do
      def dump(value) = value
      def load(bytes) = bytes
    end
    error = assert_raises(Tiercel::SerializationError) { Tiercel::Serializers.build(wrong.new).dump(1) }

    assert_match(/expected dump to return a String, got Integer/, error.message)
  end

  def test_its_frames_are_malformed_where_it_is_not_configured
    frame = Tiercel::Coder.new(serializer: Own.new).dump_value([1], nil, nil)
    error = assert_raises(Tiercel::MalformedFrame) { Tiercel::Coder.new.load_value(frame, 0.0) }

    assert_match(/serializer of the application's own/, error.message)
  end

  def test_what_it_raises_when_loading_is_a_deserialization_error
    picky = Class.new do
      def dump(_value) = "x"
      def load(_bytes) = raise("no")
    end
    coder = Tiercel::Coder.new(serializer: picky.new)
    frame = coder.dump_value([1], nil, nil)

    assert_raises(ActiveSupport::Cache::DeserializationError) { coder.load_value(frame, 0.0) }
    assert coder.load(frame).mismatched?(nil)
  end
end
