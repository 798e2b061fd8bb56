# frozen_string_literal: true
# quick

require "test_helper"

class JSONSerializerTest < Tiercel::TestCase
  include Tiercel::Contracts::SerializerContract

  class Names < Array; end

  def build_serializer = :json

  def survivors = super + [2**70, -0.0, 1e300, 0.1, "a".encode("US-ASCII"), "\u2028</script>", { "" => "" }]

  def test_the_payload_is_json
    assert_equal %({"a":[1,null,"é"]}), serializer.dump({ "a" => [1, nil, "é"] })
  end

  def test_what_would_come_back_as_something_else_is_refused
    [:a, { a: 1 }, { 1 => 2 }, { nil => 1 }, Float::NAN, Float::INFINITY, "\xFF", "a".b, "é".encode("UTF-16LE"),
     Time.at(0), 1..2, 3r, Object.new, Names.new, [["\xFF"]], { "a" => { "b" => :c } }, { "\xFF" => 1 }].each do |value|
      error = assert_raises(Tiercel::SerializationError, value.inspect) { serializer.dump(value) }

      assert_match(/does not survive JSON: choose serializer auto/, error.message)
    end
  end

  def test_cycles_and_deep_nesting_are_refused
    cycle = []
    cycle << cycle
    deep = 101.times.reduce(1) { |inner, _| [inner] }

    [cycle, deep].each { |value| assert_raises(Tiercel::SerializationError) { serializer.dump(value) } }
    deepest = 100.times.reduce(1) { |inner, _| [inner] }
    assert_equal deepest, serializer.load(serializer.dump(deepest))
  end

  def test_bytes_that_are_not_json_are_malformed
    ["", "{", "nope", "[1,]", "\xFF", "[" * 10_000].each do |bytes|
      assert_raises(Tiercel::MalformedFrame, bytes[0, 20]) { serializer.load(bytes.b) }
    end
  end
end
