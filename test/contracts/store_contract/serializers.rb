# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # `serializer:` with the name of a built-in one, or an object with dump and load.
      module Serializers
        # Stores only the class of a value.
        module ClassNames
          def self.dump(value) = value.class.name
          def self.load(bytes) = Object.const_get(bytes)
        end

        PLAIN = { "a" => [1, nil, true, "\u00fcml\u00e4ut"] }.freeze

        def test_a_serializer_of_ones_own
          own = in_format(7.1) { new_store(serializer: ClassNames) }
          own.write("name", 123)
          assert_equal Integer, own.read("name")
          assert_equal({ "name" => Integer }, own.read_multi("name"))
        end

        def test_serializers_by_name
          %i[auto marshal message_pack json as_json].each do |name|
            next unless Tiercel::Serializers::REGISTRY.available?(name)
            named = new_store(serializer: name)
            named.write("plain", PLAIN)
            assert_equal PLAIN, named.read("plain"), name.to_s
            assert_equal 1, named.increment("count #{name}")
          end
        end

        def test_serializers_by_the_names_that_rails_has
          %i[marshal_7_0 marshal_7_1].each do |name|
            named = new_store(serializer: name)
            named.write("name", 1..3)
            assert_equal 1..3, named.read("name")
          end
        end

        def test_marshal_can_be_forbidden
          careful = new_store(marshal: false)
          careful.write("plain", PLAIN)
          assert_equal PLAIN, careful.read("plain")
          assert_raises(Tiercel::SerializationError) { careful.write("name", 1..3) }
          assert_nil careful.read("name")
        end

        def test_a_serializer_that_raises_raises_out_of_the_write
          failing = Module.new do
            def self.dump(_value) = raise(TypeError, "not this")
            def self.load(bytes) = bytes
          end
          own = in_format(7.1) { new_store(serializer: failing) }
          assert_raises(TypeError) { own.write("name", 1..3) }
          assert_nil own.read("name")
        end
      end
    end
  end
end
