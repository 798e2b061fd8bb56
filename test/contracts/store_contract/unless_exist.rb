# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # `unless_exist: true`: the first write wins.
      module UnlessExist
        def test_it_writes_only_where_nothing_is
          assert_equal true, store.write("name", "first", unless_exist: true)
          assert_equal false, store.write("name", "second", unless_exist: true)
          assert_equal "first", store.read("name")
        end

        def test_an_ended_entry_is_nothing
          store.write("name", "first", expires_in: 60)
          later(61) do
            assert_equal true, store.write("name", "second", unless_exist: true)
            assert_equal "second", store.read("name")
          end
        end

        def test_raw_values_and_counters_are_something
          store.write("raw", "1", raw: true)
          store.increment("count")
          assert_equal false, store.write("raw", "2", raw: true, unless_exist: true)
          assert_equal false, store.write("count", 2, unless_exist: true)
          assert_equal ["1", 1], [store.read("raw", raw: true), store.read_counter("count")]
        end

        def test_what_cannot_be_decoded_is_nothing
          store.backend.set(key_of("name"), "\x7Fgarbage")
          reports { assert_equal true, store.write("name", "value", unless_exist: true) }
          assert_equal "value", store.read("name")
        end

        def test_in_fetch
          assert_equal("made", store.fetch("name", unless_exist: true) { store.write("name", "inside"); "made" })
          assert_equal "inside", store.read("name")
        end
      end
    end
  end
end
