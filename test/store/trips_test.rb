# frozen_string_literal: true
# suites: store*

require "test_helper"
require "active_support/cache/tiercel_store"
require "active_support/cache/mem_cache_store"
require "active_support/cache/redis_cache_store"
require "support/counting_proxy"
require "tiercel/lab/servers"

# Round trips of every public operation, counted on the wire. The trips never exceed those of Rails' own store on the
# same server: in any state, on both paths, with or without subscribers and a request-local cache. A `fetch` that misses
# acquires a lease, which costs one more trip; with `lease: false` it does not.
class StoreTripsTest < Tiercel::TestCase
  Record = Struct.new(:cache_key, :cache_version)
  NAME = Record.new("record/1", "2")
  OTHERS = ["other/1", "other/2"].freeze

  # The state of the entry NAME, and the seconds by which Ruby's clock is ahead during the operation.
  STATES = {
    hit: [->(store) { store.write(NAME, "value") }, 0],
    miss: [->(store) { store.delete(NAME) }, 0],
    other_version: [->(store) { store.write(Record.new("record/1", "1"), "value") }, 0],
    ended: [->(store) { store.write(NAME, "value", expires_in: 60, race_condition_ttl: 5) }, 61],
    counter: [->(store) { store.write(NAME, 5, raw: true) }, 0],
  }.freeze

  OPERATIONS = {
    read: ->(store) { store.read(NAME) },
    read_twice: ->(store) { 2.times { store.read(NAME) } },
    read_with_options: ->(store) { store.read(NAME, namespace: "trips") },
    fetch: ->(store) { store.fetch(NAME) { "made" } },
    fetch_twice: ->(store) { 2.times { store.fetch(NAME) { "made" } } },
    fetch_with_options: ->(store) { store.fetch(NAME, skip_nil: true) { "made" } },
    fetch_forced: ->(store) { store.fetch(NAME, force: true) { "made" } },
    fetch_in_a_race: ->(store) { store.fetch(NAME, race_condition_ttl: 10) { "made" } },
    fetch_of_nil: ->(store) { store.fetch(NAME, skip_nil: true) { nil } },
    exist: ->(store) { store.exist?(NAME) },
    write: ->(store) { store.write(NAME, "value") },
    write_raw: ->(store) { store.write(NAME, "value", raw: true) },
    write_unless_exist: ->(store) { store.write(NAME, "value", unless_exist: true, expires_in: 60) },
    delete: ->(store) { store.delete(NAME) },
    increment: ->(store) { store.increment("count/#{rand}") },
    decrement: ->(store) { store.decrement("count/#{rand}") },
    write_counter: ->(store) { store.write_counter("count", 1) },
    read_counter: ->(store) { store.read_counter("count") },
    read_multi: ->(store) { store.read_multi(NAME, *OTHERS) },
    read_multi_after_read: ->(store) { store.read(OTHERS.first) && store.read_multi(NAME, *OTHERS) },
    fetch_multi: ->(store) { store.fetch_multi(NAME, *OTHERS) { "made" } },
    write_multi: ->(store) { store.write_multi({ NAME => 1, OTHERS.first => 2 }) },
    delete_multi: ->(store) { store.delete_multi([NAME, *OTHERS]) },
    delete_matched: ->(store) { store.delete_matched("rec*") },
    clear: ->(store) { store.clear },
  }.select { |name, _| !name.end_with?("_counter") || ActiveSupport::Cache::Store.method_defined?(name) }.freeze

  # Rails' store makes only one trip because its result differs: an expired entry prevents `unless_exist`, and a
  # counter of memcached stops at zero.
  OTHERWISE_ANSWERED = [
    ->(_, operation, state) { operation == :write_unless_exist && state == :ended },
    ->(place, operation, _) { operation == :decrement && place == :memcached },
  ].freeze
  # Calls that acquire a lease on a miss, and their additional trips: if the block returns nothing to store, the lease
  # is released.
  TRIPS_OF_A_LEASE = OPERATIONS.keys.grep(/\Afetch/).to_h { |name| [name, 1] }
                               .merge(fetch_of_nil: 2, fetch_forced: 0).freeze
  # Rails' memcached store cannot list keys: it does not support delete_matched, and clear flushes the whole server.
  ONLY_ON_REDIS = %i[delete_matched clear].freeze

  # One server with Rails' store and both variants of ours, through a proxy.
  Place = Struct.new(:proxy, :rails, :ours, :url)

  def self.places = @places ||= { redis: redis, memcached: memcached }

  def self.redis
    server = Tiercel::Lab::Servers::Redis.new.start
    proxy = CountingProxy.new(port_of(server))
    url = "redis://127.0.0.1:#{proxy.port}/0"
    place(proxy, ActiveSupport::Cache::RedisCacheStore.new(url: url, pool: false, read_timeout: 20, **OPTIONS), url)
  end

  def self.memcached
    Dalli.logger = Logger.new(IO::NULL) # on Rails 7.2 it warns about Marshal
    server = Tiercel::Lab::Servers::Memcached.new.start
    proxy = CountingProxy.new(port_of(server))
    address = "127.0.0.1:#{proxy.port}"
    rails = ActiveSupport::Cache::MemCacheStore.new(address, pool: false, socket_timeout: 20, **OPTIONS)
    place(proxy, rails, "memcached://#{address}")
  end

  OPTIONS = { namespace: "trips" }.freeze

  # Keeps the server, which ends when nobody refers to it.
  def self.port_of(server)
    (@servers ||= []) << server
    Integer(server.url[/:(\d+)/, 1])
  end

  def self.place(proxy, rails, url)
    ours = { "leases" => {} }
    ours = ours.merge(ours.to_h { |way, options| ["#{way}, lease: false", options.merge(lease: false)] })
    ours.transform_values! { |options| Tiercel.new(url, timeout: 20, **options, **OPTIONS) }
    Place.new(proxy, rails, ours, url)
  end

  %i[redis memcached].each do |place|
    [false, true].product([false, true]) do |local, subscribed|
      circumstances = [("_locally" if local), ("_subscribed" if subscribed)].join
      define_method(:"test_#{place}#{circumstances}") { compare(place, local, subscribed) }
    end
  end

  def test_a_stale_version_and_an_ended_entry_are_read_once
    self.class.places.each_value do |place|
      store = place.ours.fetch("leases")
      read, fetch = OPERATIONS.values_at(:read, :fetch)
      assert_equal [1, 3], [read, fetch].map { |operation| trips(place, store, operation, :other_version) }
      assert_equal [1, 1], [read, fetch].map { |operation| trips(place, store, operation, :hit) }
    end
  end

  def test_a_series_of_misses_takes_two_trips_each_until_the_first_hit
    self.class.places.each_value do |place|
      store = Tiercel.new(place.url, timeout: 20, frozen: true, namespace: "series")
      store.write("there", ["value"])
      fetch = ->(name) { place.proxy.count { assert_equal ["value"], store.fetch(name) { ["value"] } } }
      store.fetch("first") { ["value"] }
      3.times { |index| store.fetch("warm/#{index}") { ["value"] } }
      assert_equal [2, 2, 2], (1..3).map { |index| fetch.call("miss/#{index}") }
      assert_equal [1, 1, 3, 3, 3, 2], %w[there there a b c d].map { |name| fetch.call(name) }
      assert_predicate store.fetch("there") { flunk }.first, :frozen?
      store.with_local_cache { assert_equal [1, 0], [fetch.call("there"), fetch.call("there")] }
      store.clear
    end
  end

  private

  def compare(name, local, subscribed)
    place = self.class.places.fetch(name)
    operations = OPERATIONS.keys - (name == :redis ? [] : ONLY_ON_REDIS)
    surplus = operations.product(STATES.keys).flat_map do |operation, state|
      rails = trips(place, place.rails, OPERATIONS[operation], state, local, subscribed)
      rails = 2 if OTHERWISE_ANSWERED.any? { |otherwise| otherwise.call(name, operation, state) }
      place.ours.filter_map do |way, store|
        ours = trips(place, store, OPERATIONS[operation], state, local, subscribed)
        more = way.end_with?("false") || found?(operation, state) ? 0 : TRIPS_OF_A_LEASE.fetch(operation, 0)
        "#{operation}, #{state}, on #{way}: #{ours} trips, #{rails} of Rails' store" if ours > rails + more
      end
    end
    assert_empty surplus
  end

  # The last name of `fetch_multi` is always missing.
  def found?(operation, state) = state == :hit && operation != :fetch_multi

  def trips(place, store, operation, state, local = false, subscribed = false)
    prepare, seconds = STATES.fetch(state)
    store.delete_multi(OTHERS.dup)
    store.write(OTHERS.first, "other")
    prepare.call(store)
    place.proxy.count do
      MovedClock.by(seconds) do
        observed(subscribed) { local ? store.with_local_cache { operation.call(store) } : operation.call(store) }
      end
    end
  end

  def observed(subscribed, &)
    return yield unless subscribed
    ActiveSupport::Notifications.subscribed(->(*) {}, /\Acache_/, &)
  end
end
