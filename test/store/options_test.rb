# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"
require "active_support/cache/tiercel_store"

# Options without an effect on the call, as views pass them on (`cache record`, `cache record, expires_in:`).
class StoreOptionsTest < Tiercel::TestCase
  # A miss validates options that a hit ignores.
  def test_options_of_a_miss_leave_a_hit_fast
    store = Tiercel.new("memory:")
    store.write("a", 1)
    store.write("b", 2, version: 3)
    found = [store.fetch("a", race_condition_ttl: 5) { 0 }, store.fetch("a", expires_in: 60, skip_nil: true) { 0 },
               store.fetch("a", expires_in: 60, race_condition_ttl: 5.5, skip_nil: true) { 0 },
               store.read("b", version: 3), store.fetch("b", version: "3") { 0 }, store.read("b", version: 4)]
    assert_equal [1, 1, 1, 2, 2, nil], found
    assert_nil store.fetch("c", skip_nil: true) { nil }
    refute store.exist?("c")
    assert_equal 5, store.fetch("b", version: 4, expires_in: 10) { 5 }
    assert_equal [5, nil], [store.read("b", version: "4"), store.read("b", version: "3")]
    # An expired entry is served to other callers during the block.
    travel(11) { assert_equal 6, store.fetch("b", race_condition_ttl: 5, expires_in: 10) { store.read("b") + 1 } }
  end

  def test_an_empty_hash_leaves_the_store_its_defaults
    store = Tiercel.new("memory:", expires_in: 60)
    store.write("a", 1, {})
    store.fetch("b", {}) { 2 }
    travel(40) { assert_equal [1, 2], [store.read("a", {}), store.read("b")] }
    travel(61) { assert_equal [nil, nil], [store.read("a", {}), store.read("b")] }
  end

  def test_false_is_no_options
    store = Tiercel.new("memory:", expires_in: 60)
    assert store.write("a", 1, false)
    assert_equal 2, store.fetch("b", false) { 2 }
    assert_equal [1, true], [store.read("a", false), store.exist?("a", false)]
    travel(61) { assert_nil store.read("a") }
    assert store.delete("b", false)
  end

  def test_what_rails_refuses_is_refused
    store = Tiercel.new("memory:")
    rails = ActiveSupport::Cache::MemoryStore.new
    [{ expires_in: -1 }, { expires_in: "soon" }, { version: 1 }].each do |options|
      outcomes = [rails, store].map do |one|
        one.write("a", "1")
        one.read("a", options.dup)
      rescue StandardError => error
        error.class
      end
      assert_equal outcomes.first, outcomes.last, options.inspect
    end
  end
end
