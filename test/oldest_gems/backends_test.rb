# frozen_string_literal: true
# suites: oldest_gems

require "test_helper"
require "active_support/cache"
require "contracts/backend_contract"
require "tiercel/lab/network"
require "tiercel/lab/servers"
require_relative "../faults/remote_failures"

# The backends with the oldest supported versions of other gems. Expiry happens in the servers, so the other suites
# cover it.
module OldestGems
  Servers = Tiercel::Lab::Servers

  module Contract
    include Tiercel::Contracts::BackendContract
    Tiercel::Contracts::BackendContract::Expiry.public_instance_methods.each { |name| undef_method name }

    def build_peer = build(url)
    def build_backend = build_peer.tap(&:clear)
    def build(url) = Tiercel::Backends::REGISTRY.fetch(scheme).build(Tiercel::BackendURL.parse(url), { timeout: 20 })
    def scheme = url[/\A[^:]+/]
  end

  class VersionsTest < Tiercel::TestCase
    def test_they_are_the_oldest
      oldest = Tiercel::OptionalGems::OLDEST.slice(*Gem.loaded_specs.keys)
      assert_operator oldest.size, :>=, 5
      assert_equal oldest, oldest.to_h { |name, _| [name, Gem.loaded_specs[name].version.to_s] }
      assert_equal ["1.7.0", "7.2.0"], %w[msgpack activesupport].map { |name| Gem.loaded_specs[name].version.to_s }
    end
  end

  class MemcachedTest < Tiercel::TestCase
    include Contract

    def self.servers = @servers ||= Array.new(2) { Servers::Memcached.new.start }
    def url = "memcached://#{self.class.servers.map(&:address).join(",")}"
  end

  class RedisTest < Tiercel::TestCase
    include Contract

    def self.server = @server ||= Servers::Redis.new.start
    def url = self.class.server.url
    def versions? = false

    def test_it_tells_of_changes
      subscription = backend.subscription("app:").open
      backend.set_multi({ "key" => "value", "app:key" => "value" })
      assert_equal ["app:key"], subscription.read
      subscription.ask
      assert_equal :master, subscription.read
      assert_predicate subscription, :same_server?
    ensure
      subscription&.close
    end
  end

  class RedisClusterTest < Tiercel::TestCase
    include Contract

    def self.server = @server ||= Servers::RedisCluster.new.start
    def url = self.class.server.url
    def versions? = false
  end

  class SQLiteTest < Tiercel::TestCase
    include Contract

    def url = "sqlite:#{dir}/cache.sqlite3"
  end

  # Features that depend on the internals of these gems: deadlines, TLS, forks.
  class FaultsTest < Tiercel::TestCase
    include RemoteFailures

    def test_hung_and_forked
      [Servers::Memcached, Servers::Redis, Servers::RedisCluster].each do |kind|
        kind.run { |server| assert_bounded_and_forked(server, build(server.url)) }
      end
    end

    def assert_bounded_and_forked(server, store)
      answer { store.write("key", "value") }
      assert_equal %w[value value], fork_and_wait(2) { answer { store.read("key") } }
      server.pause
      reports = capture_reports { assert_nil within_budget { store.read("key") } }
      assert_reported(reports, "key")
      server.resume
      assert_no_reply_for_another(store)
    end
  end
end
