# frozen_string_literal: true
# suites: store*

require "test_helper"
require "active_support/cache"
require "dalli"
require "redis"
require "tiercel/lab/servers"

# Migration in both directions: Tiercel reads entries of Rails' stores, and they treat Tiercel's entries as misses.
class RailsEntriesTest < Tiercel::TestCase
  Servers = Tiercel::Lab::Servers

  VALUES = {
    "string" => "text", "a key with spaces" => 2.5, "größe/☃" => [1, nil], "hash" => { a: { "b" => :c } },
    "large" => "x" * 5_000, "large hash" => { "rows" => ["y" * 10] * 500 }, "nil" => nil
  }.freeze

  # Without a pool, because Rails 7.2 cannot build one with connection_pool 3.
  def lookup(*place, **options) = ActiveSupport::Cache.lookup_store(*place, **options)

  def assert_way_there_and_back(theirs, ours)
    VALUES.each { |name, value| theirs.write(name, value, expires_in: 60, version: "1") }
    theirs.write("raw", "5", raw: true)
    theirs.increment("counter", 3)
    reports = capture_reports do
      VALUES.each do |name, value|
        assert ours.read(name) == value, name
        assert_equal true, ours.exist?(name, version: "1"), name
        assert_equal false, ours.exist?(name, version: "2"), name
      end
      assert_equal VALUES, ours.read_multi(*VALUES.keys)
      assert_equal "5", ours.read("raw", raw: true)
      assert_equal 4, ours.increment("counter")
      VALUES.each { |name, value| ours.write(name, value) }
      VALUES.each_key { |name| assert_nil theirs.read(name), name }
      assert_equal "4", theirs.read("counter", raw: true).to_s
    end
    assert_empty reports
  end

  def test_memcached
    Servers::Memcached.run do |server|
      theirs = lookup(:mem_cache_store, server.address, pool: false, socket_timeout: 20)
      assert_way_there_and_back(theirs, lookup(:tiercel_store, server.url, timeout: 20))
    end
  end

  def test_redis
    Servers::Redis.run do |server|
      theirs = lookup(:redis_cache_store, url: server.url, pool: false, read_timeout: 20)
      assert_way_there_and_back(theirs, lookup(:tiercel_store, server.url, timeout: 20))
    end
  end
end
