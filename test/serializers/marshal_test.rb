# frozen_string_literal: true
# quick

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

  class Endless
    def marshal_dump = 1
    def marshal_load(value) = marshal_load(value)
  end

  # The recursion is in Ruby. A million brackets would exceed the stack within C, perhaps within `malloc`, which then
  # keeps its lock: the process hangs.
  def test_recursion_without_end_is_malformed
    bytes = serializer.dump(Endless.new)
    error = assert_raises(Tiercel::MalformedFrame) { serializer.load(bytes) }
    assert_kind_of SystemStackError, error.cause
  end
end
