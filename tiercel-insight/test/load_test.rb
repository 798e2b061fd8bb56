# frozen_string_literal: true

# suites: insight

require "test_helper"
require "json"
require "open3"
require "tiercel/insight"
require "tiercel/lab"

# An application behind Puma with two workers: the figures equal the load, and the classes add up to them.
class LoadTest < Tiercel::TestCase
  APPLICATION = File.expand_path("load/application.rb", __dir__)
  LITECACHE = File.expand_path("load/litecache.rb", __dir__)
  LIB = File.expand_path("../lib", __dir__)

  def stores(redis, memcached)
    { "memory store" => ["ActiveSupport::Cache::MemoryStore.new", 2],
      "file store" => [%(ActiveSupport::Cache::FileStore.new("\#{ROOT}/files")), 2],
      "memcached of Rails" => ["ActiveSupport::Cache::MemCacheStore.new(#{memcached.inspect})", 2],
      "Redis of Rails" => ["ActiveSupport::Cache::RedisCacheStore.new(url: #{redis.inspect})", 2],
      "Solid Cache" => ["SolidCache::Store.new(max_size: 10_000_000)", 2],
      "shared:, one process" => [%(Tiercel.new("shared:\#{ROOT}/one", size: "16MB")), nil],
      "shared:" => [%(Tiercel.new("shared:\#{ROOT}/segment", size: "16MB")), 2],
      "memory:" => [%(Tiercel.new("memory:", size: "16MB")), 2],
      "redis:" => [%(Tiercel.new(#{redis.inspect}, namespace: "t", timeout: 20)), 2],
      "tiers" => [%(Tiercel.new("shared:\#{ROOT}/near", #{redis.inspect}, namespace: "u", timeout: 20)), 2] }
  end

  def run_program(bundle, *arguments)
    bundle.install
    environment = bundle.environment.merge("RUBYLIB" => LIB)
    out, err, status = Open3.capture3(environment, RbConfig.ruby, "-W0", *arguments)
    assert_predicate status, :success?, err
    out.lines.map { |line| JSON.parse(line, symbolize_names: true) }
  rescue Tiercel::Lab::CannotRun => error
    raise if ENV["CI"]
    skip(error.message)
  end

  def assert_figures(result)
    assert_nil result[:error], result[:store]
    account = result[:account].values_at(:r, :b, :d)
    totals = result[:totals]
    assert_equal account, [totals[:hits] + totals[:misses], *totals.values_at(:blocks, :deletes)], result[:store]
    assert_equal totals[:blocks], result[:classes], "#{result[:store]}: the classes add up to the totals"
    assert_operator totals[:writes], :>=, result[:account][:w], result[:store]
    assert_equal 0, result[:secrets], result[:store]
  end

  # The size of Redis, and whether memcached's is known.
  def capacities(redis, memcached)
    redis = ActiveSupport::Cache.lookup_store(:redis_cache_store, url: redis.url, pool: false)
    memcached = ActiveSupport::Cache.lookup_store(:mem_cache_store, memcached.url.delete_prefix("memcached://"),
                                                  pool: false)
    [Tiercel::Insight::Capacity.of(redis).limit_bytes, Tiercel::Insight::Capacity.of(memcached).entries.positive?]
  end

  def test_every_store_behind_puma
    Tiercel::Lab::Servers::Redis.run(maxmemory: "100mb") do |redis|
      Tiercel::Lab::Servers::Memcached.run do |memcached|
        all = stores(redis.url, memcached.url.delete_prefix("memcached://"))
        requests = long? ? 2_000 : 50
        found = run_program(Tiercel::Lab::Engine::Shop.new(Dir.tmpdir).bundle, APPLICATION, all.to_json, requests.to_s)
        assert_equal all.keys, (found.map { |one| one[:store] })
        found.each do |one|
          assert_figures(one)
          assert_equal requests, one[:totals][:requests], one[:store]
        end
        # The entries of this load have fewer than 500 bytes.
        assert_operator found.find { |one| one[:store] == "Solid Cache" }[:entries], :>, 10_000_000 / 500
        assert_equal [100 << 20, true], capacities(redis, memcached)
      end
    end
  end

  def test_litecache
    assert_figures(result = run_program(Tiercel::Lab::Engine::Bundle.new("litecache"), LITECACHE).first)
    assert_equal [128 << 20, {}], result.values_at(:limit, :backend)
  end
end
