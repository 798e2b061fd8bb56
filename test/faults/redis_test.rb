# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache"
require "redis-client"
require "timeout"
require_relative "server_rows"

class RedisFaultsTest < Tiercel::TestCase
  include ServerRows

  def start_server(**options) = Servers::Redis.new(**options).start

  # Writes are refused, other commands work, and the breaker stays closed.
  def assert_writes_refused(store)
    reports = capture_reports { assert_nil store.write("key", "new") }
    assert_reported(reports, "key", Tiercel::Refused)
    without_reports do
      5.times { assert_nil store.write("key", "new") }
      assert_nil store.increment("counter")
    end
    assert_equal "value", store.read("key")
    assert_equal({ "key" => "value" }, store.read_multi("key", "absent"))
    assert_equal "computed", without_reports { store.fetch("absent") { "computed" } }
  end

  def test_out_of_memory
    with_server do |server|
      store = build(server.url, breaker: LONG_BREAKER, timeout: PATIENCE_SECONDS)
      store.write("key", "value")
      server.command("CONFIG", "SET", "maxmemory", "1")
      assert_writes_refused(store)
      refute without_reports { store.write_multi({ "a" => 1, "b" => 2 }) }
      server.command("CONFIG", "SET", "maxmemory", "0")
      assert_equal true, store.write("key", "new")
    end
  end

  # After a series of misses a fetch asks for the lease before it reads.
  def test_a_full_server_returns_what_it_has_within_a_series_of_misses
    with_server do |server|
      store = build(server.url, breaker: LONG_BREAKER, timeout: PATIENCE_SECONDS)
      store.write("key", "value")
      miss = -> { 4.times { store.fetch("miss/#{rand}") { "computed" } } }
      miss.call
      server.command("CONFIG", "SET", "maxmemory", "1")
      assert_equal "value", without_reports { store.fetch("key") { flunk } }
      server.command("CONFIG", "SET", "maxmemory", "0")
      miss.call # and then one call is late
      store.backend.stub(:compare_exchange, ->(*) { raise Tiercel::TimedOut }) do
        assert_equal "value", without_reports { store.fetch("key") { flunk } }
      end
    end
  end

  def test_read_only_replica
    with_server do |server|
      store = build(server.url, breaker: LONG_BREAKER, timeout: PATIENCE_SECONDS)
      store.write("key", "value")
      server.command("REPLICAOF", "127.0.0.1", "1")
      assert_writes_refused(store)
      assert_equal false, without_reports { store.delete("key") }
      server.command("REPLICAOF", "NO", "ONE")
      assert_equal true, store.write("key", "new")
    end
  end

  def test_max_clients
    with_server(args: ["--maxclients", "12"]) do |server|
      store = build(server.url)
      others = Array.new(12) { server.connect }
      assert_misses(store)
      assert_opens(build(server.url, breaker: LONG_BREAKER))
      others.each(&:close)
      assert_no_reply_for_another(store)
    ensure
      others&.each(&:close)
    end
  end

  def test_key_of_another_type
    with_server do |server|
      store = build(server.url, breaker: LONG_BREAKER, timeout: PATIENCE_SECONDS)
      server.command("LPUSH", "key", "a", "b")
      store.write("other", "value")
      [-> { store.read("key") }, -> { store.increment("key") }].each do |call|
        reports = capture_reports { assert_nil call.call }
        assert_reported(reports, "key", Tiercel::Refused)
        assert_match(/WRONGTYPE/, reports.first.error.message)
      end
      reports = capture_reports { assert_equal({ "other" => "value" }, store.read_multi("key", "other")) }
      assert_empty reports
      assert_equal "computed", without_reports { store.fetch("key") { "computed" } }
      assert_equal "computed", store.read("key"), "a write replaces it"
      server.command("LPUSH", "one of many", "a")
      assert_equal({ "one of many" => "made", "new" => "made" }, store.fetch_multi("one of many", "new") { "made" })
      assert_equal "made", store.read("one of many")
      server.command("LPUSH", "list", "a")
      assert_equal true, store.delete("list")
    end
  end

  def test_a_password_that_is_wrong
    with_server(password: "secret") do |server|
      assert_equal true, build(server.url, timeout: PATIENCE_SECONDS).write("key", "value")
      assert_misses(build(server.url.sub("secret", "wrong")))
      assert_misses(build(server.url.sub(":secret@", "")))
      reports = capture_reports { build(server.url.sub("secret", "wrong")).read("key") }
      refute_match(/wrong@|:wrong/, reports.first.error.message)
    end
  end

  def test_a_password_that_nobody_asked_for_and_a_database_that_is_not_there
    with_server do |server|
      [server.url.sub("//", "//:secret@"), server.url.sub(%r{/\d*\z}, "/999")].each do |url|
        reports = capture_reports { assert_nil build(url, timeout: PATIENCE_SECONDS).read("key") }
        assert_instance_of Tiercel::Unavailable, reports.first.error
        refute_match(/secret/, reports.first.error.message)
      end
    end
  end

  def test_loading
    loading = Tiercel::Backends::Redis::ReplyError.new("LOADING Redis is loading the dataset in memory")
    assert_kind_of Tiercel::Unavailable, loading.translated("redis://x", "key")
    busy = Tiercel::Backends::Redis::ReplyError.new("CLUSTERDOWN The cluster is down")
    assert_kind_of Tiercel::Unavailable, busy.translated("redis://x", "key")
    refused = Tiercel::Backends::Redis::ReplyError.new("NOPERM this user has no permissions")
    assert_kind_of Tiercel::Refused, refused.translated("redis://x", "key")
  end
end
