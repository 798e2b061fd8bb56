# frozen_string_literal: true
# quick

require "test_helper"

class SerializersTest < Tiercel::TestCase
  Serializers = Tiercel::Serializers

  def test_every_number_has_a_name_and_every_name_its_number
    Serializers::NAMES.except(Tiercel::Frame::Layout::TYPE_JSON).each do |type, name|
      assert_equal type, Serializers::REGISTRY.fetch(name).type
    end
  end

  def test_names_modules_and_objects
    marshal = Serializers::REGISTRY.fetch(:marshal)

    [:marshal, "marshal", Marshal, :marshal_7_1].each { |option| assert_same marshal, Serializers.build(option) }
  end

  def test_an_unknown_name
    error = assert_raises(Tiercel::ConfigurationError) { Serializers.build(:yaml) }

    assert_match(/unknown serializer :yaml: expected one of as_json, auto/, error.message)
  end

  def test_an_object_that_is_none
    error = assert_raises(Tiercel::ConfigurationError) { Serializers.build(Object.new) }

    assert_match(/serializer: expected one of .* or an object with dump\(value\) and load\(bytes\)/, error.message)
  end
end
