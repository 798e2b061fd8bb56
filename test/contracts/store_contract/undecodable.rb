# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # An undecodable entry is a miss with one report, never an exception.
      module Undecodable
        GARBAGE = ["\x7Fgarbage", "\x00", "\x04\x08", "\x00\x11", "\xFF" * 100].map(&:b).freeze

        # The class is removed after the value was written.
        def self.with_vanishing_class
          const_set(:Vanishing, Struct.new(:field))
          yield const_get(:Vanishing).new(1)
        ensure
          remove_const(:Vanishing) if const_defined?(:Vanishing, false)
        end

        def test_foreign_bytes_are_a_miss
          GARBAGE.each do |bytes|
            plant(bytes)
            errors = reports { assert_nil store.read("name"), bytes.inspect }
            assert_equal 1, errors.size, "reports for #{bytes.inspect}: #{errors.map(&:class)}"
          end
        end

        # A class that is loaded on demand, whose file is missing.
        class Unloadable
          def marshal_dump = 1
          def marshal_load(_) = raise(LoadError, "cannot load such file -- missing")
        end

        def test_a_class_that_cannot_be_loaded_is_a_miss
          store.write("name", Unloadable.new)
          refute_empty(reports { assert_nil store.read("name") })
          refute_empty(reports { assert_empty store.read_multi("name") })
          refute_empty(reports { assert_equal 1, store.fetch("name") { 1 } })
        end

        def test_multi_operations_leave_them_out
          plant("\x7Fgarbage")
          store.write("good", 1)
          errors = reports { assert_equal({ "good" => 1 }, store.read_multi("name", "good")) }
          assert_equal 1, errors.size
          reports { assert_equal({ "good" => 1, "name" => 2 }, store.fetch_multi("good", "name") { 2 }) }
          assert_equal 2, store.read("name")
        end

        def test_a_frame_that_was_cut_off
          store.write("name", { "a" => "b" * 100 })
          whole = store.backend.get(key_of("name"))
          [1, whole.bytesize / 2, whole.bytesize - 1].each do |length|
            plant(whole.byteslice(0, length))
            errors = reports { assert_nil store.read("name") }
            assert_equal 1, errors.size, "cut to #{length} bytes"
          end
        end

        def test_a_class_that_is_gone
          skip "this serializer keeps no classes" unless storable_values.include?(1..3)
          Undecodable.with_vanishing_class { |value| store.write("name", value, expires_in: 60) }
          errors = reports { assert_nil store.read("name") }
          assert_equal 1, errors.size
          reports do
            assert_equal false, store.exist?("name")
            assert_equal({}, store.read_multi("name"))
            assert_equal("made", store.fetch("name") { "made" })
          end
          assert_equal "made", store.read("name")
        end

        private

        def plant(bytes) = store.backend.set(key_of("name"), bytes)
      end
    end
  end
end
