# frozen_string_literal: true

# suites: insight

require "test_helper"
require "active_support/cache/tiercel_store"
require "tiercel/insight"
require "tiercel/lab/servers"

# Stores behind servers: totals equal the load, and their capacity is known.
class ServersTest < Tiercel::TestCase
  def teardown = Tiercel::Insight.stop

  def load(store, folder)
    Tiercel::Insight.start(store, folder:)
    20.times { |index| store.fetch("user:u#{index}@example.com:inbox", expires_in: 60) { sleep 0.001; "x" * 100 } }
    20.times { |index| store.fetch("user:u#{index}@example.com:inbox", expires_in: 60) { flunk } }
    store.read("absent")
    store.fetch_multi("a", "b", expires_in: 60) { |name| name }
    totals = Tiercel::Insight.figures.totals
    assert_equal [20, 23, 22], totals.values_at(:hits, :misses, :blocks), store.class
    assert_match(/\A(t:)?user:\*:inbox\z/, Tiercel::Insight.figures.classes.first[:name])
    assert_operator Tiercel::Insight.figures.classes.first[:seconds], :>=, 0.02
    refute_includes Dir["#{folder}/*"].map { |path| File.binread(path) }.join, "example.com"
  end

  def test_redis
    Tiercel::Lab::Servers::Redis.run do |server|
      server.command("CONFIG", "SET", "maxmemory", "100mb")
      stores = [Tiercel.new(server.url, namespace: "t"),
                ActiveSupport::Cache.lookup_store(:redis_cache_store, url: server.url, pool: false)]
      with_tmpdir { |folder| stores.each_with_index { |store, index| load(store, "#{folder}/#{index}") } }
      assert_equal 100 << 20, Tiercel::Insight::Capacity.of(stores.last).limit_bytes
    end
  end

  def test_memcached
    Tiercel::Lab::Servers::Memcached.run do |server|
      address = server.url.delete_prefix("memcached://")
      stores = [Tiercel.new(server.url, namespace: "t"),
                ActiveSupport::Cache.lookup_store(:mem_cache_store, address, pool: false)]
      with_tmpdir { |folder| stores.each_with_index { |store, index| load(store, "#{folder}/#{index}") } }
      assert_operator Tiercel::Insight::Capacity.of(stores.last).entries, :>, 100
    end
  end
end
