# frozen_string_literal: true
# quick

require "test_helper"
require "date"

# Values of each type, in each encoding and size class, through every serializer; the compressors take turns.
class RoundTripTest < Tiercel::TestCase
  ENCODINGS = [Encoding::UTF_8, Encoding::BINARY, Encoding::US_ASCII, Encoding::UTF_16LE, Encoding::Shift_JIS,
               Encoding::ISO_8859_1].freeze
  SIZES = [0, 1, 23, 31, 32, 255, 256, 1_023, 16_384, 70_000].freeze
  REGISTRY = Tiercel::Compressors::REGISTRY
  COMPRESSORS = REGISTRY.names.select { |name| REGISTRY.available?(name) }.freeze

  SCALARS = [nil, true, false, 0, 127, 128, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**62, 2**63, 2**64 - 1,
             -1, -32, -33, -128, -129, -32_768, -32_769, -(2**31), -(2**31) - 1, -(2**63), 0.0, -0.0, 1.5, 1e300].freeze
  BEYOND_JSON = [:symbol, :"größe", :"", 2**64, -(2**63) - 1, Float::INFINITY, -Float::INFINITY].freeze
  CONTAINERS = [[], {}, [1, [2, [3]]], { "a" => { "b" => [nil, true] } }, Array.new(20, 1),
                (0..20).to_h { |i| [i.to_s.encode("UTF-8"), i] }, Array.new(300) { |i| { "id" => i } }].freeze
  OBJECTS = [{ a: 1, "b" => :c }, { 1 => 2, nil => 3, [1] => 4, 1.5 => 5 }, { { a: 1 } => [:b] },
             Time.at(0, 123_456_789, :nsec), Date.new(2026, 1, 2), 1..3, 3r, Struct.new(:a).new(1).to_a,
             [Time.at(1), { at: Time.at(2) }]].freeze

  def test_strings
    ENCODINGS.product(SIZES) do |encoding, size|
      string = text(size).encode(encoding)
      %i[auto marshal json].each { |serializer| assert_round_trip(string, serializer) }
    end
  end

  def test_what_every_serializer_keeps
    %i[auto marshal message_pack json as_json].product(SCALARS + CONTAINERS) do |serializer, value|
      assert_round_trip(value, serializer)
    end
  end

  def test_what_only_ruby_serializers_keep
    %i[auto marshal message_pack].product(BEYOND_JSON) { |serializer, value| assert_round_trip(value, serializer) }
  end

  def test_objects
    %i[auto marshal].product(OBJECTS) { |serializer, value| assert_round_trip(value, serializer) }
  end

  private

  def text(size) = ("<li>row</li> " * (size / 13 + 1))[0, size]

  def assert_round_trip(value, serializer)
    compressor = COMPRESSORS[(@turn = @turn.to_i + 1) % COMPRESSORS.size]
    coder = Tiercel::Coder.new(serializer:, compressor:)
    loaded = coder.load_value(coder.dump_value(value, nil, nil, true, 1), 0.0)
    message = -> { "#{serializer} #{compressor} #{value.inspect[0, 100]}" }
    assert value.eql?(loaded) || value == loaded, message
    assert_equal describe(value), describe(loaded), message
  end

  # Includes differences that == ignores.
  def describe(value)
    case value
    when String then [value.encoding, value.bytesize]
    when Float then [value, 1 / value]
    when Array then value.map { |element| describe(element) }
    when Hash then value.map { |key, element| [describe(key), describe(element)] }
    else value.class
    end
  end
end
