# frozen_string_literal: true
# suites: insight insight_main

require_relative "doctor_case"
require "active_support/cache/mem_cache_store"
require "active_support/cache/redis_cache_store"

# Marshal over a network without TLS, in Rails' own stores.
class DoctorWireTest < DoctorCase
  PATTERN = /values are loaded with Marshal over a network without TLS/

  def test_redis
    assert_found PATTERN, of(redis("redis://10.255.255.1:6379/0"))
    assert_found PATTERN, of(redis("redis://:secret@cache.example:6379/0"))
    refute_includes of(redis("redis://:secret@cache.example:6379/0")).to_text, "secret"
    ["rediss://10.255.255.1:6379/0", "redis://localhost/0",
     "redis://127.0.0.1/0", "unix:///tmp/redis.sock"].each do |url|
      assert_nothing_found of(redis(url))
    end
  end

  def test_memcached
    assert_found PATTERN, of(memcached("10.255.255.1:11211"))
    assert_nothing_found of(memcached("127.0.0.1:11211"))
    assert_nothing_found of(memcached("localhost:11211"))
    assert_nothing_found of(memcached("10.255.255.1:11211", ssl_context: Object.new))
  end

  private

  def of(store)
    subject = Tiercel::Insight::Doctor::Subject.new("the cache", store)
    Tiercel::Insight::Doctor::Report.new(Tiercel::Insight::Doctor::Checks::Wire.new(subject, here).findings)
  end

  # With Rails' own pool, where the bundle can build one.
  def redis(url, **) = ActiveSupport::Cache::RedisCacheStore.new(url:, **)

  # Without a connection: the client's statistics list the servers.
  def memcached(server, **options)
    Class.new(ActiveSupport::Cache::MemoryStore) do
      define_singleton_method(:name) { "ActiveSupport::Cache::MemCacheStore" }
      define_method(:stats) { { server => nil } }
      define_method(:options) { options }
    end.new
  end
end
