# frozen_string_literal: true
# quick

require "test_helper"

class AutoSerializerTest < Tiercel::TestCase
  include Tiercel::Contracts::SerializerContract

  def build_serializer = :auto

  def survivors = super + [:symbol, { a: 1, 2 => [3] }, Time.at(0), 2**70, 1..2, "\xFF".b, 4, [4, 8]]

  def test_plain_data_goes_through_msgpack_and_the_rest_through_marshal
    assert_equal "\x92\x01\x02".b, serializer.dump([1, 2])
    assert_equal Marshal.dump(Time.at(0)), serializer.dump(Time.at(0))
  end

  def test_the_integer_4_is_not_taken_for_marshal
    assert_equal "\x04".b, serializer.dump(4)
    assert_equal 4, serializer.load("\x04".b)
  end

  def test_a_stack_that_overflows_falls_back_to_marshal
    shallow = Class.new do
      def self.dump(_value) = raise(SystemStackError, "stack level too deep")
      def self.load(bytes) = raise("not asked for #{bytes}")
    end
    serializer = Tiercel::Serializers::Auto.new(plain: shallow)

    assert_equal [1], serializer.load(serializer.dump([1]))
  end

  def test_without_marshal
    strict = Tiercel::Serializers::Auto.new(marshal: false)

    assert_equal [1, { a: "b" }], strict.load(strict.dump([1, { a: "b" }]))
    assert_raises(Tiercel::SerializationError) { strict.dump([1..2]) }
    assert_raises(Tiercel::SerializationError) { strict.load(Marshal.dump([1])) }
  end
end
