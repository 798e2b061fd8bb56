# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # The store as a Ruby object and as a Rails store.
      module StoreObject
        def test_it_is_a_store_of_rails
          assert_kind_of ActiveSupport::Cache::Store, store
          assert_same store, ActiveSupport::Cache.lookup_store(store)
        end

        def test_inspect_is_short
          store.write("name", "a secret value")
          assert_includes store.inspect, store.class.name
          assert_includes store.inspect, store.backend.to_s
          refute_includes store.inspect, "a secret value"
        end

        def test_a_copy_shares_the_data
          store.write("a", 1)
          copy = store.dup
          assert_equal 1, copy.read("a")
          copy.write("b", 2)
          assert_equal 2, store.read("b")
          assert_equal 3, copy.increment("c", 3)
          assert_equal 3, store.read_counter("c")
        end

        def test_attributes_can_be_set_for_a_block
          skip "Object#with is not loaded" unless store.respond_to?(:with)
          store.with(logger: nil) { assert_nil store.logger }
          spaced = new_store(namespace: "outer")
          spaced.with(namespace: "inner") { spaced.write("a", 1) }
          assert_nil spaced.read("a")
          assert_equal 1, spaced.read("a", namespace: "inner")
        end

        def test_options_of_a_store_never_change
          fixed = new_store
          assert_raises(FrozenError) { fixed.options[:expires_in] = 60 }
          fixed.namespace = "later"
          assert_raises(FrozenError) { fixed.options[:namespace] = nil }
        end
      end
    end
  end
end
