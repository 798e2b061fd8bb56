# frozen_string_literal: true
# suites: insight insight_main

require_relative "doctor_case"

# The doctor examines a Redis, including one that refuses most commands.
class DoctorRedisTest < DoctorCase
  DEPRECATED = defined?(ActiveSupport::Cache::DeprecatedRedisCacheStore)

  def setup
    @server = Tiercel::Lab::Servers::Redis.new.start
    configure("maxmemory" => "100mb", "maxmemory-policy" => "allkeys-lru")
  end

  def teardown = @server&.stop

  def configure(settings) = settings.each { |name, value| @server.command("CONFIG", "SET", name, value) }

  # Rails 7.2 cannot build a pool with connection_pool 3. In Rails 8.2, `redis:` builds another class.
  def stores
    place = { url: @server.url, read_timeout: 20 }
    stores = [Tiercel.new(@server.url, timeout: 20),
              ActiveSupport::Cache.lookup_store(:redis_cache_store, **place, pool: false)]
    return stores << ActiveSupport::Cache.lookup_store(:redis_cache_store, **place) unless DEPRECATED
    require "redis"
    stores << ActiveSupport.deprecator.silence do
      ActiveSupport::Cache::RedisCacheStore.new(redis: Redis.new(url: @server.url))
    end
  end

  def test_a_redis_made_for_caching
    stores.each do |store|
      store.write("name", "value")
      assert_nothing_found examine(store)
    end
  end

  def test_no_memory_limit
    configure("maxmemory" => "0")
    stores.each { |store| assert_found(/no memory limit/, examine(store)) }
  end

  def test_an_eviction_policy_that_refuses_writes
    configure("maxmemory-policy" => "noeviction")
    stores.each { |store| assert_found(/refuses writes once its 100.0 MB are full/, examine(store)) }
  end

  def test_a_redis_used_for_more_than_caching
    @server.command("RPUSH", "queue:default", "job")
    stores.each { |store| assert_found(/is not used only for caching: a sample has 1 of type list/, examine(store)) }
  end

  def test_another_database
    @server.command("SELECT", "0")
    Tiercel.new("#{@server.url.chomp("/0")}/3", timeout: 20).write("name", "value")
    stores.each { |store| assert_found(/db3 have keys too/, examine(store)) }
  end

  def test_keys_without_ttl_under_a_policy_that_never_evicts_them
    configure("maxmemory-policy" => "volatile-lru")
    @server.command("SET", "session", "value")
    stores.each { |store| assert_found(/1 of 1 sampled keys have no TTL/, examine(store)) }
  end

  # Stands for the gem: the doctor calls nothing else of it.
  def with_sidekiq(url)
    client = RedisClient.config(url:).new_client
    sidekiq = Module.new { define_singleton_method(:redis) { |&block| block.call(client) } }
    Object.const_set(:Sidekiq, sidekiq)
    yield
  ensure
    Object.send(:remove_const, :Sidekiq)
    client&.close
  end

  def test_the_redis_of_sidekiq
    stores.each do |store|
      with_sidekiq(@server.url) { assert_found(/is also Sidekiq's Redis: eviction would drop jobs/, examine(store)) }
      Tiercel::Lab::Servers::Redis.run do |jobs|
        with_sidekiq(jobs.url) { assert_nothing_found examine(store) }
        jobs.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        with_sidekiq(jobs.url) do
          assert_found(/Sidekiq's Redis may evict jobs \(maxmemory-policy allkeys-lru\)/, examine(store))
        end
      end
    end
  end

  def test_a_user_who_may_ask_nothing
    @server.command("ACL", "SETUSER", "app", "on", ">secret", "~*", "+get", "+set", "+unlink", "+evalsha", "+eval")
    store = Tiercel.new(@server.url, username: "app", password: "secret", timeout: 20)
    report = examine(store)
    assert_predicate report, :sound?, report.to_text
    assert_match(/INFO is refused/, report.to_text)
    refute_includes report.to_text, "secret"
  end

  def test_a_redis_that_is_away
    store = Tiercel.new(@server.url, error_handler: ->(**) {})
    @server.stop
    report = examine(store)
    assert_found(/a write failed: the backend is unreachable/, report)
    assert(report.findings.any? { |finding| finding.status == :unknown }, report.to_text)
  end
end
