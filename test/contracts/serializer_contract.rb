# frozen_string_literal: true

require "tiercel"

module Tiercel
  module Contracts
    # The tests that every serializer must pass. Include the module in a Minitest class:
    #
    #   class MySerializerTest < Minitest::Test
    #     include Tiercel::Contracts::SerializerContract
    #
    #     # returns the object that a user passes as `serializer:`
    #     def build_serializer = MySerializer.new
    #
    #     # values that must load equal to the dumped ones
    #     def survivors = [nil, 1, "text", { "a" => [1, 2] }]
    #   end
    module SerializerContract
      # @return [Object] the serializer as a store wraps it
      def serializer = @serializer ||= Serializers.build(build_serializer)

      # @return [Array<Object>] values that must load equal to the dumped ones
      def survivors
        [nil, true, false, 0, -1, 2**40, 1.5, "text", "größe", [], [1, [2]], {}, { "a" => { "b" => [nil] } }]
      end

      def test_a_payload_is_a_string
        survivors.each { |value| assert_instance_of String, serializer.dump(value) }
      end

      def test_survivors_come_back_equal
        survivors.each do |value|
          loaded = serializer.load(serializer.dump(value).b)
          value.nil? ? assert_nil(loaded) : assert_equal(value, loaded)
          assert_equal value.class, loaded.class
        end
      end

      def test_dumping_leaves_the_value_as_it_was
        survivors.each do |value|
          before = ::Marshal.dump(value)
          serializer.dump(value)
          assert_equal before, ::Marshal.dump(value)
        end
      end

      def test_loading_leaves_the_bytes_as_they_were
        survivors.each do |value|
          bytes = serializer.dump(value).b.freeze
          copy = bytes.dup
          serializer.load(bytes)
          assert_equal copy, bytes
        end
      end

      def test_what_is_loaded_can_be_changed
        loaded = serializer.load(serializer.dump(["text", { "a" => 1 }]))
        refute_predicate loaded, :frozen?
        refute_predicate loaded.first, :frozen?
        refute_predicate loaded.last, :frozen?
      end

      def test_each_load_is_an_object_of_its_own
        bytes = serializer.dump(["text"])
        refute_same serializer.load(bytes), serializer.load(bytes)
      end

      def test_damaged_bytes_raise_nothing_but_standard_errors
        survivors.each do |value|
          bytes = serializer.dump(value).b
          bytes.bytesize.times { |size| load_damaged(bytes.byteslice(0, size)) }
        end
        pass
      end

      def test_the_type_is_one_of_the_frame
        assert_includes Frame::Layout::TYPES, serializer.type
      end

      def test_values_come_back_through_a_coder
        coder = Coder.new(serializer: build_serializer)
        survivors.each do |value|
          loaded = coder.load_value(coder.dump_value(value, nil, nil), 0.0)
          value.nil? ? assert_nil(loaded) : assert_equal(value, loaded)
        end
      end

      private

      def load_damaged(bytes)
        serializer.load(bytes)
      rescue StandardError
        nil
      end
    end
  end
end
