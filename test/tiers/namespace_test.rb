# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"

# A copy of a store, and a store with a new namespace.
class TiersNamespaceTest < Tiercel::TestCase
  def test_a_copy_with_another_namespace_leaves_the_original_alone
    store = Tiercel.new("shared:#{dir}/segment?size=4MB", "sqlite:#{dir}/cache.sqlite3", namespace: "a")
    copy = store.dup
    copy.namespace = "b"
    assert_equal %w[a b], [store.namespace, copy.namespace]
    store.write("name", 1)
    copy.write("name", 2)
    assert_equal [1, 2], [store.read("name"), copy.read("name")]
    # Each has connections that listen for its own keys.
    refute_same store.backend, copy.backend
    assert_same store.backend, store.dup.backend
  end

  def test_a_backend_without_listeners_is_shared
    store = Tiercel.new("memory:", namespace: "a")
    copy = store.dup
    copy.namespace = "b"
    copy.write("name", 2)
    assert_same store.backend, copy.backend
    assert_nil store.read("name")
    assert_equal 2, store.read("name", namespace: "b")
  end
end
