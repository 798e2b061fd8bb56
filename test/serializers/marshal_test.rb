# frozen_string_literal: true

require "test_helper"

class MarshalSerializerTest < Tiercel::TestCase
  include Tiercel::Contracts::SerializerContract

  def build_serializer = :marshal

  def survivors = super + [:symbol, Time.at(0), 2**70, 1..2, { a: Struct.new(:x).new(1).to_a }]

  def test_bytes_that_are_not_marshals_are_malformed
    ["", "\x04", "\x04\x07i\x06".b, "x"].each do |bytes|
      assert_raises(Tiercel::MalformedFrame) { serializer.load(bytes) }
    end
  end

  def test_nesting_without_end_is_malformed
    assert_raises(Tiercel::MalformedFrame) { serializer.load("\x04\b".b + ("[\x06".b * 500_000) + "0".b) }
  end
end
