# frozen_string_literal: true
# suites: store

require "test_helper"
require "contracts/backend_contract"
require_relative "redis/servers"

class RedisTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def versions? = false
  def build_peer = RedisServers.build(RedisServers.single.url)
  def build_backend = build_peer.tap(&:clear)
end

class RedisDetailsTest < Tiercel::TestCase
  Redis = Tiercel::Backends::Redis

  def server = RedisServers.single
  attr_reader :backend

  def setup = @backend = RedisServers.build(server.url).tap(&:clear)

  def teardown = @backend.close

  def test_a_unix_socket
    over_socket = RedisServers.build(RedisServers.socket.url)
    assert_equal [true, "value"], [over_socket.set("key", "value"), over_socket.get("key")]
  end

  def test_ttls_are_milliseconds
    began = Tiercel::Clock.monotonic
    backend.set("key", "value", 100.5)
    left = server.command("PTTL", "key").to_i
    assert_includes (100_499 - ((Tiercel::Clock.monotonic - began) * 1_000))..100_500, left
    backend.set_multi({ "other" => "value" }, 0.0004)
    wait_until("its end") { backend.get("other").nil? }
  end

  # Each value keeps the position of its key and is refused independently of the others.
  def test_values_of_many_that_are_refused
    server.command("ACL", "SETUSER", "half", "on", ">secret", "~half*", "+@all")
    half = RedisServers.build(server.url.sub("//", "//half:secret@"))
    error = assert_raises(Tiercel::Refused) { half.set_multi({ "half1" => "a", "other" => "b", "half2" => "c" }) }
    assert_match(/NOPERM/, error.message)
    assert_equal false, error.partial
    assert_equal({ "half1" => "a", "half2" => "c" }, backend.get_multi(%w[half1 other half2]))
  ensure
    half&.close
    server.command("ACL", "DELUSER", "half")
  end

  def test_no_end_is_an_end_that_nobody_will_see
    backend.set("key", "value")
    backend.add("added", "value")
    backend.increment("counter")
    backend.set_multi({ "many" => "value" })
    %w[key added counter many].each do |key|
      assert_operator server.command("PTTL", key).to_i, :>, 1_000 * 86_400 * 366 * 10_000
    end
  end

  # Long bytes are compared by their digest.
  def test_tokens_of_every_length
    [0, 1, 255, 256, 257, 100_000].each do |size|
      backend.set("key", "x" * size)
      _, token = backend.get_with_token("key")
      assert_equal false, backend.compare_and_set("key", "new", "#{token}y")
      assert_equal true, backend.compare_and_set("key", "new", token)
    end
  end

  def test_entries_that_others_wrote
    server.command("SET", "plain", "text")
    assert_equal "text", backend.get("plain")
    _, token = backend.get_with_token("plain")
    assert_equal true, backend.compare_and_set("plain", "new", token, 60)
    server.command("SET", "number", (2**62).to_s)
    assert_equal 2**62 + 1, backend.increment("number")
    assert_equal "-1", server.command("TTL", "number"), "it keeps the end it has: none"
  end

  def test_sentinel
    RedisServers::Servers::RedisSentinel.run do |sentinel|
      forms = [sentinel.address, [sentinel.address], [{ url: "redis://#{sentinel.address}" }],
               [{ host: "127.0.0.1", port: sentinel.sentinel.port }]]
      forms.each do |sentinels|
        backend = RedisServers.build("redis://#{sentinel.name}/0", sentinels: sentinels)
        assert_equal true, backend.set("key", "value")
        assert_equal "value", sentinel.master.command("GET", "key")
        sentinel.sentinel.kill if sentinels.equal?(forms.last)
        backend.renew # new connections lead to the last known master, whether a Sentinel answers or not
        assert_equal "value", backend.get("key")
        backend.close
      end
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

  def test_urls
    address = ->(url, **options) { Redis::Address.new(Tiercel::BackendURL.parse(url), options) }
    { "redis://user:secret@cache:6380/2" => [["cache", 6380]], "redis://" => [["127.0.0.1", 6379]],
      "redis://[::1]:7/0" => [["::1", 7]], "unix:/run/redis.sock" => [["/run/redis.sock", nil]],
      "redis://p%40ss@cache" => [["cache", 6379]], "redis://:pa/ss@cache/1" => [["cache", 6379]],
      "rediss+cluster://:secret@a:1,b:2" => [["a", 1], ["b", 2]] }.each do |url, hosts|
      assert_equal hosts, address.call(url).hosts, url
    end
    databases = [["redis://cache/2", {}], ["redis://cache/1", { db: 7 }], ["unix:/run/redis.sock", { db: "3" }],
                 ["redis://cache", {}]].map { |url, options| address.call(url, **options).database }
    assert_equal [2, 7, 3, 0], databases
  end

  def test_users_and_passwords
    server.command("ACL", "SETUSER", "app", "reset", "on", ">se cret/@:", "~*", "+@all")
    place = "#{server.host}:#{server.port}"
    [["redis://app:se%20cret%2F%40%3A@#{place}", {}], ["redis://#{place}", { username: "app", password: "se cret/@:" }],
     ["redis://app@#{place}", { username: "app", password: ->(user) { user == "app" ? "se cret/@:" : "no" } }]]
      .each do |url, options|
      other = RedisServers.build(url, **options)
      assert_equal true, other.set("key", "value"), url
      other.close
    end
  ensure
    server.command("ACL", "DELUSER", "app")
  end

  def test_what_cannot_be_built
    ["unix:", "redis+cluster://", "redis://cache:port", "redis://cache/db", "redis://cache:99999/0", "rediss://cache:0",
     "redis+cluster://a:1,b:70000"].each do |url|
      assert_raises(Tiercel::ConfigurationError, url) { RedisServers.build(url) }
    end
    assert_raises(Tiercel::ConfigurationError) { RedisServers.build("redis://cache", connect_timeout: 0) }
    { [] => "cache", "a:99999" => "cache", [{ port: 1 }] => "cache", "a:1" => "" }.each do |sentinels, name|
      assert_raises(Tiercel::ConfigurationError) { RedisServers.build("redis://#{name}", sentinels: sentinels) }
    end
    [{ db: 1 }, { sentinels: "a:1" }, { name: "a" }].each do |options|
      error = assert_raises(Tiercel::ConfigurationError) { RedisServers.build("redis+cluster://a:1", **options) }
      assert_includes error.message, "#{options.keys.first}: a cluster does not support this"
    end
  end
end
