# frozen_string_literal: true
# quick

require "test_helper"

# The default: plain data in C, the rest by its serializer.
class AutoSerializerTest < Tiercel::TestCase
  include Tiercel::Contracts::SerializerContract

  # A serializer of the contract: the payloads of a coder's frames.
  class Payloads
    def initialize(**) = @coder = Tiercel::Coder.new(compressor: nil, **)
    def type = Tiercel::Frame::Layout::TYPE_PLAIN
    def dump(value) = Tiercel::Frame.payload(@coder.dump_value([value], nil, nil))

    def load(bytes)
      type = bytes.start_with?("\x04\x08".b) ? 0x10 : 0x11
      @coder.load_value(Tiercel::Frame.build(type, bytes), 0.0).first
    end
  end

  def build_serializer = :auto
  def serializer = Payloads.new

  def survivors = super + [:symbol, { a: 1, 2 => [3] }, Time.at(0), 2**70, 1..2, "\xFF".b, 4, [4, 8]]

  def test_plain_data_goes_through_msgpack_and_the_rest_through_marshal
    assert_equal "\x91\x92\x01\x02".b, serializer.dump([1, 2])
    assert_equal Marshal.dump([Time.at(0)]), serializer.dump(Time.at(0))
  end

  # C leaves a version of more than 32 KB to Ruby.
  def test_plain_data_with_a_long_version
    frame = Tiercel::Coder.new(compressor: nil).dump_value([1, 2], nil, "v" * 40_000)

    assert_equal [0x11, "\x92\x01\x02".b], [frame.getbyte(2), Tiercel::Frame.payload(frame)]
  end

  def test_without_marshal
    strict = Payloads.new(marshal: false)

    assert_equal [1, { a: "b" }], strict.load(strict.dump([1, { a: "b" }]))
    assert_raises(Tiercel::SerializationError) { strict.dump([1..2]) }
    assert_raises(Tiercel::SerializationError) { strict.load(Marshal.dump([1])) }
  end
end
