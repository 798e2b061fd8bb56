# frozen_string_literal: true
# suites: store

require "test_helper"
require "contracts/backend_contract"
require_relative "redis/servers"

class RedisTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def build_peer = RedisServers.build(RedisServers.single.url)
  def build_backend = build_peer.tap(&:clear)
end

class RedisRubyDriverTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def build_peer = RedisServers.build(RedisServers.socket.url, driver: "ruby")
  def build_backend = build_peer.tap(&:clear)

  # The tests over one server cover TTLs; here TTLs only have to reach the server.
  def remote_later(seconds, &)
    name == "test_an_entry_ends" ? super : skip("TTLs end by the clock of each server")
  end
end

# A server like Redis 6 and KeyDB; docs/testing.md explains how to test with a real one.
class RedisBeforeSevenTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def build_peer = RedisServers.build(RedisServers.before_seven.url)
  def build_backend = build_peer.tap(&:clear)
end

class RedisDetailsTest < Tiercel::TestCase
  Redis = Tiercel::Backends::Redis

  def server = RedisServers.single
  attr_reader :backend

  def setup = @backend = RedisServers.build(server.url).tap(&:clear)

  def teardown = @backend.close

  def test_ttls_are_milliseconds
    backend.set("key", "value", 1.5)
    assert_includes 1_000..1_500, server.command("PTTL", "key").to_i
    backend.set_multi({ "other" => "value" }, 0.0004)
    wait_until("its end") { backend.get("other").nil? }
  end

  # With hiredis each reply needs two objects; separate commands and TTLs would add two or three per value.
  def test_many_values_share_a_command_and_a_ttl
    pairs = (0...200).to_h { |index| ["many#{index}", "value"] }
    3.times { backend.set_multi(pairs) }
    before = GC.stat(:total_allocated_objects)
    backend.set_multi(pairs)
    assert_operator (GC.stat(:total_allocated_objects) - before) / 200.0, :<, 2.5
    ends = pairs.keys.map { |key| server.command("PTTL", key).to_i }
    assert_operator ends.max - ends.min, :<, 5_000, "one random mark, from one moment on"
    assert_operator ends.min, :>, Redis::ENDLESS_MS
  end

  # Each value keeps the position of its key and is refused independently of the others.
  def test_values_of_many_that_are_refused
    server.command("ACL", "SETUSER", "half", "on", ">secret", "~half*", "+@all")
    %w[ruby hiredis].each do |driver|
      half = RedisServers.build(server.url.sub("//", "//half:secret@"), driver: driver)
      error = assert_raises(Tiercel::Refused) { half.set_multi({ "half1" => "a", "other" => "b", "half2" => "c" }) }
      assert_match(/NOPERM/, error.message)
      assert_equal false, error.partial
      assert_equal({ "half1" => "a", "half2" => "c" }, backend.get_multi(%w[half1 other half2]))
      backend.clear
    ensure
      half&.close
    end
  ensure
    server.command("ACL", "DELUSER", "half")
  end

  def test_no_end_is_an_end_that_nobody_will_see
    backend.set("key", "value")
    backend.add("added", "value")
    backend.increment("counter")
    %w[key added counter].each do |key|
      assert_operator server.command("PTTL", key).to_i, :>, 1_000 * 86_400 * 366 * 10_000
    end
  end

  def test_the_same_bytes_written_twice_have_two_tokens
    tokens = Array.new(50) { backend.set("key", "value") && backend.get_with_token("key").last }
    assert_equal 50, tokens.uniq.size
  end

  def test_a_counter_that_came_back_has_another_token
    backend.increment("counter", 5)
    _, token = backend.get_with_token("counter")
    backend.increment("counter", 1)
    backend.increment("counter", -1)
    assert_equal false, backend.compare_and_set("counter", "9", token)
  end

  def test_scripts_come_back_after_the_server_forgot_them
    2.times do
      assert_equal 1, backend.increment("counter")
      _, token = backend.get_with_token("counter")
      assert_equal true, backend.compare_and_set("counter", "7", token)
      backend.delete("counter")
      server.command("SCRIPT", "FLUSH")
    end
  end

  # The bytes that were read serve as the token.
  def test_bytes_without_an_end_as_a_token
    backend.set("key", "one")
    bytes, = backend.get_with_token("key")
    assert_equal true, backend.compare_and_set("key", "two", [nil, bytes])
    assert_equal false, backend.compare_and_set("key", "three", [nil, bytes])
  end

  def test_entries_that_others_wrote
    server.command("SET", "plain", "text")
    assert_equal "text", backend.get("plain")
    _, token = backend.get_with_token("plain")
    assert_equal true, backend.compare_and_set("plain", "new", token, 60)
    server.command("SET", "number", "41")
    assert_equal 42, backend.increment("number")
    assert_equal "-1", server.command("TTL", "number"), "it keeps the end it has: none"
  end

  def test_counts_beyond_what_lua_can_hold
    backend.set("counter", (2**62).to_s)
    assert_equal 2**62 + 1, backend.increment("counter")
    assert_equal(-(2**63), backend.increment("low", -(2**63)))
    assert_raises(Tiercel::NotACounter) { backend.increment("low", -1) }
  end

  def test_the_driver
    drivers = { nil => "HiredisConnection", "hiredis" => "HiredisConnection", :ruby => "RubyConnection" }
    drivers.each { |name, kind| assert_includes Redis::Deadline.driver(name).ancestors.map(&:to_s).join(" "), kind }
    assert_raises(Tiercel::ConfigurationError) { Redis::Deadline.driver(:c) }
  end

  def test_the_applications_own_driver_stays_as_it_is
    script = 'require "redis-client"; before = RedisClient.default_driver; require "tiercel/backends/redis"; ' \
             'Tiercel::Backends::Redis::Deadline.driver(nil); print before == RedisClient.default_driver'
    assert_equal "true", IO.popen([RbConfig.ruby, "-Ilib", "-rbundler/setup", "-e", script], &:read)
  end

  def test_sentinel
    RedisServers::Servers::RedisSentinel.run do |sentinel|
      [sentinel.address, [sentinel.address], [{ host: "127.0.0.1", port: sentinel.sentinel.port }]].each do |sentinels|
        backend = RedisServers.build("redis://#{sentinel.name}/0", sentinels: sentinels)
        assert_equal true, backend.set("key", "value")
        assert_equal "value", sentinel.master.command("GET", "key")
        backend.close
      end
    end
  end

  def test_sentinel_names_another_master
    RedisServers::Servers::RedisSentinel.run do |sentinel|
      backend = RedisServers.build("redis://#{sentinel.name}/0", sentinels: sentinel.address)
      assert_equal true, backend.set("key", "value")
      sentinel.fail_over
      wait_until("writes to the new master", within: 30) do
        backend.set("key", "after")
      rescue Tiercel::BackendError
        false
      end
      assert_equal "after", backend.get("key")
    end
  end

  def test_tls
    RedisServers::Servers::Redis.run(tls: true) do |server|
      options = { ssl_params: { ca_file: server.certificate.file } }
      trusting = RedisServers.build(server.url, **options)
      pairs = (0...50).to_h { |index| ["tls#{index}", Random.bytes(5_000)] }
      assert_equal true, trusting.set_multi(pairs)
      assert trusting.get_multi(pairs.keys) == pairs
      assert_equal 1, trusting.increment("counter")
      answers = fork_and_wait(2) { |child| trusting.increment("counter") && trusting.get("tls#{child}").bytesize }
      assert_equal [5_000, 5_000], answers
      assert_equal 4, trusting.increment("counter")
    end
  end

  # Whatever the cause, a connection with an outstanding reply never serves another caller.
  def test_a_busy_connection_is_closed_where_it_is_met
    config = Redis::Address.new(Tiercel::BackendURL.parse(server.url), {}, 2).config
    connection = Redis::Connection.new(config)
    soon = Tiercel::Clock.monotonic + 5
    connection.use(soon, resend: true) { |driver| driver.call(["SET", "key", "old"], nil) }
    connection.instance_variable_get(:@driver).write(["GET", "key"])
    connection.instance_variable_set(:@busy, true)
    assert_equal "PONG", connection.use(soon, resend: true) { |driver| driver.call(["PING"], nil) }
  ensure
    connection&.close
  end

  def test_urls
    config = ->(url, **options) { Redis::Address.new(Tiercel::BackendURL.parse(url), options, 0.25).config }
    tcp = config.call("redis://user:secret@cache:6380/2")
    assert_equal ["cache", 6380, 2, "user", "secret"], [tcp.host, tcp.port, tcp.db, tcp.username, tcp.password]
    assert_equal true, config.call("rediss://cache").ssl?
    unix = config.call("unix:/run/redis.sock", db: "3")
    assert_equal ["/run/redis.sock", 3], [unix.path, unix.db]
    assert_equal 7, config.call("redis://cache/1", db: 7).db
    cluster = config.call("rediss+cluster://:secret@a:1,b:2")
    assert_kind_of RedisClient::ClusterConfig, cluster
    assert_equal %w[a:1 b:2], cluster.startup_nodes.keys
  end

  def test_no_password_is_ever_shown
    ["redis://user:secret@cache/0", "redis+cluster://user:secret@a:1,b:2"].each do |url|
      refute_includes RedisServers.build(url).inspect, "secret"
    end
  end

  def test_no_password_is_shown_where_a_url_cannot_be_read
    ["redis://user:secret@cache:port", "redis://user:se/cret@cache", "redis+cluster://user:secret@a:port"].each do |url|
      error = assert_raises(Tiercel::ConfigurationError, url) { RedisServers.build(url) }
      assert_match(%r{redis(\+cluster)?://(cache|a).*expected redis.*USER:PASSWORD@.*percent-encoded}, error.message)
      refute_match(/secret|cret@/, error.message)
    end
  end

  def test_what_cannot_be_built
    ["unix:", "redis+cluster://", "redis://cache:port", "redis://cache/db", "redis://cache:99999/0", "rediss://cache:0",
     "redis+cluster://a:1,b:70000"].each do |url|
      assert_raises(Tiercel::ConfigurationError, url) { RedisServers.build(url) }
    end
    assert_raises(Tiercel::ConfigurationError) { RedisServers.build("redis://cache", connect_timeout: 0) }
    [[], "a:99999"].each do |sentinels|
      assert_raises(Tiercel::ConfigurationError) { RedisServers.build("redis://cache", sentinels: sentinels) }
    end
    [{ db: 1 }, { sentinels: "a:1" }, { role: :replica }].each do |options|
      error = assert_raises(Tiercel::ConfigurationError) { RedisServers.build("redis+cluster://a:1", **options) }
      assert_includes error.message, "#{options.keys.first}: a cluster does not support this"
    end
  end
end
