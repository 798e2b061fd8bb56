# frozen_string_literal: true
# suites: store*

require "test_helper"
require "active_support/cache/tiercel_store"

# Notifications name the tier that answered.
class TiersNotificationsTest < Tiercel::TestCase
  def teardown
    @stores&.each(&:close)
  end

  def test_which_tier_had_it
    store = build(shared, files)
    store.write("key", "value")
    seen = payloads_of("cache_read") do
      store.read("key")
      store.read("key", namespace: nil)
      store.backend.near.forget(["key"])
      store.fetch("key") { flunk }
      store.read("absent")
    end
    segment = "shared:#{dir}/segment"
    assert_equal [segment, segment, files, nil], seen.map { |payload| payload[:tier] }
  end

  def test_a_copy_that_is_of_no_use_is_no_answer
    store = build(shared, files)
    store.write("key", "value", version: 1)
    seen = payloads_of("cache_read") do
      store.read("key", version: 2)
      store.fetch("key", version: 2) { "made" }
    end
    assert_equal([[false, false]] * 2, seen.map { |payload| [payload[:hit], payload.key?(:tier)] })
  end

  def test_raw_values_are_the_last_tiers_and_tagged_values_the_near_tiers
    store = build(shared, files)
    store.write("raw", "bytes", raw: true)
    store.write("tagged", "value", tags: "tag")
    store.read("tagged") # makes a copy of the tag's generation too
    seen = payloads_of("cache_read") do
      store.read("raw", raw: true)
      store.read("tagged", tags: "tag")
      store.read("tagged")
      store.read("absent", raw: true)
      store.read("absent", tags: "tag")
    end
    segment = "shared:#{dir}/segment"
    assert_equal [files, segment, segment, nil, nil], seen.map { |payload| payload[:tier] }
  end

  def test_how_many_of_several_names_each_tier_had
    store = build(shared, files)
    names = %w[one two three four]
    names.each { |name| store.write(name, "value") }
    store.backend.near.forget(%w[three four])
    segment = "shared:#{dir}/segment"
    seen = payloads_of("cache_read_multi") do
      store.read_multi(*names, "absent")
      store.read_multi(*names)
      store.fetch_multi("one", "new") { store.read_multi("absent") && "made" }
      store.read_multi("absent")
      store.read_multi("one", "absent", tags: "tag")
      store.fetch_multi("one", force: true) { "made" }
    end
    assert_equal [{ segment => 2, files => 2 }, { segment => 4 }, {}, { segment => 1 }, {}, { segment => 1 }, nil],
                 seen.map { |payload| payload[:tiers] }
  end

  private

  def build(*urls) = Tiercel.new(*urls).tap { |store| (@stores ||= []) << store }
  def shared = "shared:#{dir}/segment?size=1MB&ttl=600"
  def files = "file:#{dir}/cache"

  def payloads_of(event, &)
    seen = []
    ActiveSupport::Notifications.subscribed(->(*, payload) { seen << payload }, "#{event}.active_support", &)
    seen
  end
end
