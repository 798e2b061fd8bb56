# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "support/counting_proxy"
require "tiercel/lab/servers"

# Round trips of entries with tags, counted on the wire, as listed in docs/tags.md.
class StoreTagsTripsTest < Tiercel::TestCase
  PAGE = File.read(File.expand_path("../../docs/tags.md", __dir__))
  NAMED = { tags: %w[one two three] }.freeze

  # An operation, and the state before it.
  OPERATIONS = {
    "read, untagged" => [->(store) { store.read("plain") }],
    "read, tags named" => [->(store) { store.read("name", **NAMED) }],
    "read, tags not named" => [->(store) { store.read("name") }],
    "exist?, tags not named" => [->(store) { store.exist?("name") }],
    "fetch, hit, tags named" => [->(store) { store.fetch("name", **NAMED) { flunk } }],
    "read_multi of many, tags not named, first time" => [->(store) { store.read_multi("name", "other", "plain") }],
    "read_multi of many, tags named" => [->(store) { store.read_multi("name", "other", "plain", **NAMED) }],
    "read_multi of many, tags not named" => [->(store) { store.read_multi("name", "other", "plain") }],
    "write" => [->(store) { store.write("name", 1, **NAMED) }],
    "write, of a tag that has no generation" => [->(store) { store.write("name", 1, tags: [rand.to_s]) }],
    "write_multi" => [->(store) { store.write_multi({ "name" => 1, "other" => 2 }, **NAMED) }],
    "fetch, cold, lease: false" => [->(store) { store.fetch("cold", lease: false, **NAMED) { 1 } }, "cold"],
    "fetch, cold, lease: true" => [->(store) { store.fetch("cold", lease: true, **NAMED) { 1 } }, "cold"],
    "fetch_multi, cold, lease: true" =>
      [->(store) { store.fetch_multi("cold", "c", lease: true, **NAMED) { 1 } }, "cold", "c"],
    "invalidate_tags of many" => [->(store) { store.invalidate_tags("one", "two", "gone") }],
  }.freeze

  def self.places
    kinds = { redis: Tiercel::Lab::Servers::Redis, memcached: Tiercel::Lab::Servers::Memcached }
    @places ||= kinds.to_h do |name, kind|
      (@servers ||= []) << server = kind.new.start
      proxy = CountingProxy.new(Integer(server.url[/:(\d+)/, 1]))
      scheme = name == :redis ? "redis" : "memcached"
      [name, [proxy, "#{scheme}://127.0.0.1:#{proxy.port}"]]
    end
  end

  %i[redis memcached].product([true, false]).each do |place, local|
    define_method(:"test_#{place}#{"_locally" if local}") do
      proxy, url = self.class.places.fetch(place)
      store = Tiercel.new(url, timeout: 20)
      counted = OPERATIONS.to_h { |name, (operation, *cold)| [name, trips(proxy, store, operation, cold, local)] }
      assert_equal stated, counted
    ensure
      store&.close
    end
  end

  private

  def stated = PAGE.scan(/^\| ([^|]+) \| (\d) \|$/).to_h { |name, trips| [name.delete("`"), trips.to_i] }

  def trips(proxy, store, operation, cold, local)
    store.write_multi({ "name" => 1, "other" => 2 }, **NAMED)
    store.write("plain", 3)
    store.fetch("warm", lease: true, **NAMED) { 1 } # Redis receives a script with its first use
    store.delete_multi([*cold, "warm"])
    proxy.count { local ? store.with_local_cache { operation.call(store) } : operation.call(store) }
  end
end
