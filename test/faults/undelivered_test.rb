# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache"
require "active_support/cache/tiercel_store"
require "tiercel/lab/network"
require "minitest/mock"
require "tiercel/lab/servers"

# A delete that meets an outage is sent again when the server answers: on real servers behind a proxy.
class UndeliveredFaultsTest < Tiercel::TestCase
  Servers = Tiercel::Lab::Servers

  { redis: Servers::Redis, memcached: Servers::Memcached }.each do |name, server_class|
    define_method(:"test_a_deleted_value_does_not_come_back_with_the_server_#{name}") do
      server_class.run do |server|
        Tiercel::Lab::Network::Proxy.run(server) do |proxy|
          store = ActiveSupport::Cache.lookup_store(:tiercel_store, proxy.url, breaker: false, timeout: 5)
          direct = ActiveSupport::Cache.lookup_store(:tiercel_store, server.url, timeout: 5)
          %w[a b c].each { |key| assert store.write(key, "old") }
          store.write("tagged", "old", tags: ["t"])
          store.write_counter("n", 5)
          store.write("lock", "mine", unless_exist: true)
          proxy.sever
          capture_reports do
            refute store.delete("a")
            assert_equal 0, store.delete_multi(%w[b n lock])
            refute store.invalidate_tags("t")
          end
          assert_equal "old", direct.read("a"), "the server has not received the delete"
          proxy.heal
          assert_equal "old", store.read("c")
          assert_equal [nil, nil, nil], [direct.read("a"), direct.read("b"), store.read("tagged")]
          assert_equal 5, store.read_counter("n"), "counters stay"
          assert_equal "mine", store.read("lock"), "another process may have written it since"
          assert_equal "new", store.fetch("a") { "new" }
        end
      end
    end

    define_method(:"test_ten_thousand_deletes_are_sent_by_the_next_calls_#{name}") do
      server_class.run do |server|
        Tiercel::Lab::Network::Proxy.run(server) do |proxy|
          store = ActiveSupport::Cache.lookup_store(:tiercel_store, proxy.url, breaker: false, timeout: 5)
          keys = Array.new(10_000) { |index| "key-#{index}" }
          store.write_multi(keys.to_h { |key| [key, "old"] })
          proxy.sever
          capture_reports { keys.each_slice(1_000) { |some| store.delete_multi(some) } }
          proxy.heal
          assert_nil store.read(keys.last) # sends the list, or a part of it
          10.times { store.read("other") }
          direct = ActiveSupport::Cache.lookup_store(:tiercel_store, server.url, timeout: 5)
          assert_empty direct.read_multi(*keys)
        end
      end
    end
  end

  # With a budget much longer than the idle time, the check before a counter must still happen.
  def test_a_counter_survives_that_the_server_closed_an_idle_connection
    Servers::Redis.run do |server|
      [2, 30].each do |timeout|
        store = ActiveSupport::Cache.lookup_store(:tiercel_store, server.url, timeout:)
        assert_equal 1, store.increment("n#{timeout}")
        server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        reports = capture_reports { travel_monotonic(5) { assert_equal 2, store.increment("n#{timeout}") } }
        assert_empty reports
      end
    end
  end
end
