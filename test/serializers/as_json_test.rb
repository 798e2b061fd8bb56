# frozen_string_literal: true
# quick

require "test_helper"
require "active_support/json"

class AsJSONSerializerTest < Tiercel::TestCase
  include Tiercel::Contracts::SerializerContract

  def build_serializer = :as_json

  # docs/serializers.md lists these conversions.
  CONVERSIONS = {
    :a => "a", { a: 1 } => { "a" => 1 }, { 1 => 2 } => { "1" => 2 }, Float::INFINITY => nil, (1..2) => "1..2",
    Time.utc(2026, 1, 2, 3, 4, 5, 678_901) => "2026-01-02T03:04:05.678Z", Struct.new(:x).new(1) => { "x" => 1 },
  }.freeze

  def test_conversions
    CONVERSIONS.each do |value, expected|
      loaded = serializer.load(serializer.dump(value))

      expected.nil? ? assert_nil(loaded) : assert_equal(expected, loaded)
    end
  end

  def test_times_stay_strings_whatever_active_support_is_set_to
    before = ActiveSupport.parse_json_times
    ActiveSupport.parse_json_times = true

    assert_equal ["2026-01-02T03:04:05.000Z"], serializer.load(serializer.dump([Time.utc(2026, 1, 2, 3, 4, 5)]))
  ensure
    ActiveSupport.parse_json_times = before
  end

  # On each Rails line: what is written can be read.
  def test_deep_nesting_is_refused
    nest = ->(levels) { levels.times.reduce(1) { |inner, _| [inner] } }
    assert_equal nest[100], serializer.load(serializer.dump(nest[100]))
    assert_raises(Tiercel::SerializationError) { serializer.dump(nest[101]) }
    assert_equal [[1]] * 200, serializer.load(serializer.dump([[1]] * 200))
  end

  def test_strings_that_are_not_utf_8_are_refused
    error = assert_raises(Tiercel::SerializationError) { serializer.dump(["\xFF"]) }

    assert_match(/Array cannot be converted to JSON/, error.message)
  end

  def test_cycles_are_refused
    cycle = []
    cycle << cycle

    assert_raises(Tiercel::SerializationError) { serializer.dump(cycle) }
  end

  def test_bytes_that_are_not_json_are_malformed
    ["", "{", "nope"].each { |bytes| assert_raises(Tiercel::MalformedFrame) { serializer.load(bytes) } }
  end
end
