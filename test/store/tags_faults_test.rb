# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "support/ruby_memory"

# Tags with a backend that fails between two steps: a value whose generations are unknown is not stored.
class StoreTagsFaultsTest < Tiercel::TestCase
  WAYS = [true, false].freeze

  # Generations cannot be read before the block; those read after it would be too new.
  def test_a_value_is_not_stored_with_generations_that_were_read_after_its_block
    each_store do |store|
      failing(store, :get_multi, :compare_exchange_multi) do |recover|
        store.fetch("call", tags: ["tag"]) { recover.call && "old" }
      end
      failing(store, :get_multi, :compare_exchange_multi) do |recover|
        store.fetch("block") { |_, options| options.tags = ["tag"]; recover.call && "old" }
      end
      failing(store, :get_multi, :compare_exchange_multi) do |recover|
        store.fetch("more", tags: ["other"]) { |_, options| options.tags += ["tag"]; recover.call && "old" }
      end
      failing(store, :get_multi, :compare_exchange_multi) do |recover|
        store.fetch("late", tags: ["other"]) { |_, options| recover.call && options.tags += ["tag"]; "old" }
      end
      failing(store, :get_multi, :compare_exchange_multi) do |recover|
        store.fetch_multi("a", "b", tags: ["tag"]) { |name| recover.call && name }
      end
      assert_empty store.read_multi("call", "block", "more", "late", "a", "b")
      assert_equal("new", store.fetch("call", tags: ["tag"]) { "new" })
      assert_equal "new", store.read("call")
    end
  end

  def test_a_failing_read_of_generations_is_a_miss_and_a_report
    store = Tiercel.new("file:#{dir}/cache", error_handler: ->(**) {})
    store.write("name", 1, tags: ["tag"])
    reports = capture_reports do
      failing(store, :get_multi, :get) { assert_nil store.read("name") }
    end
    refute_empty reports
    assert_equal 1, store.read("name")
  end

  def test_an_invalidation_that_failed_says_so
    each_store do |store|
      reports = capture_reports { failing(store, :delete_multi) { assert_nil store.invalidate_tags("tag") } }
      refute_empty reports
      assert_equal true, store.invalidate_tags("tag")
    end
  end

  def test_a_write_whose_generations_are_not_known_is_none
    each_store do |store|
      store.write("name", "before")
      failing(store, :get_multi, :compare_exchange_multi) do
        assert_nil store.write("name", 1, tags: ["tag"])
        assert_nil store.write_multi({ "name" => 1 }, tags: ["tag"])
      end
      assert_equal "before", store.read("name")
    end
  end

  # Some of several servers failed, or some keys wait for their deletes.
  def test_a_write_with_some_of_its_generations_is_none
    store = Tiercel.new("file:#{dir}/cache", error_handler: ->(**) {})
    partial = Tiercel::Unavailable.new("is down", backend: "x").with_partial({ "tiercel:tag:a" => ["12345678", 1] })
    reports = capture_reports do
      store.backend.stub(:compare_exchange_multi, ->(*) { raise partial }) do
        assert_nil store.write("name", 1, tags: %w[a b])
        assert_equal(2, store.fetch("name", tags: %w[a b]) { 2 })
      end
    end
    refute_empty reports
    assert_nil store.read("name")
  end

  # A backend of two servers, one of which is away.
  class Halved < RubyMemory
    def self.option_names = []
    def self.build(*) = new
    def remote? = true
    def delete(key) = key.end_with?("away") ? raise(Tiercel::Unavailable.new("is down", backend: to_s)) : super

    def delete_multi(keys)
      super
    rescue Tiercel::Unavailable => error
      raise error.with_partial(1) # as a ring does
    end
  end

  def test_a_write_with_a_tag_whose_invalidation_waits_is_none
    Tiercel::Backends::REGISTRY.register(:halved) { Halved }
    store = Tiercel.new("halved:")
    without_reports do
      assert_nil store.invalidate_tags("away", "there")
      assert_nil store.write("name", 1, tags: %w[away other])
      assert_equal(2, store.fetch("name", tags: %w[away other]) { 2 })
    end
    assert_nil store.read("name")
  end

  private

  def each_store
    WAYS.each do |lease|
      store = Tiercel.new("memory:", lease: lease, error_handler: ->(**) {})
      yield store
    ensure
      store&.close
    end
  end

  # @yieldparam recover [#call] ends the failure
  def failing(store, *names)
    backend = store.backend
    names.each do |name|
      backend.define_singleton_method(name) { |*| raise Tiercel::Unavailable.new("down", backend: "test:") }
    end
    recover = lambda do
      (names & backend.singleton_methods(false)).each { |name| backend.singleton_class.send(:remove_method, name) }
      true
    end
    yield recover
  ensure
    recover&.call
  end
end
