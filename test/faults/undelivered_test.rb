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

  def guard(store) = store.instance_variable_get(:@settings).guard

  # Six processes each delete a key while the server is stopped. Their open breakers do not send the deletes. Then five
  # make no call at all. The sixth reads all keys until it finds the one that nobody deleted.
  def assert_nothing_deleted_is_read(server)
    ready, over = %w[ready over].map { |name| File.join(dir, name) }
    resumed = Thread.new do
      wait_until("six lists") { Dir["#{ready}*"].size == 6 }
      server.resume
    end
    found = fork_and_wait(6) do |number|
      store = build(server, breaker: { failures: 1, cool_down: number.zero? ? 0.05 : 600 }, timeout: 0.25)
      without_reports { assert_nil store.read("kept") || store.delete("key-#{number}") || nil }
      FileUtils.touch("#{ready}#{number}")
      next wait_until("the reader") { File.exist?(over) } && nil if number.positive?
      values = []
      without_reports { wait_until("the end of the wait") { (values << store.read_multi(*KEYS)).last.key?("kept") } }
      FileUtils.touch(over)
      values.uniq
    end
    resumed.join
    assert_equal [{}, { "kept" => "old" }], found.first
  end

  KEYS = [*Array.new(6) { |number| "key-#{number}" }, "kept"].freeze

  def build(server, **) = ActiveSupport::Cache.lookup_store(:tiercel_store, server.url, timeout: 5, **)

  { redis: Servers::Redis, memcached: Servers::Memcached }.each do |name, server_class|
    define_method(:"test_a_deleted_value_does_not_come_back_with_the_server_#{name}") do
      server_class.run do |server|
        Tiercel::Lab::Network::Proxy.run(server) do |proxy|
          store = ActiveSupport::Cache.lookup_store(:tiercel_store, proxy.url, breaker: false, timeout: 5)
          direct = ActiveSupport::Cache.lookup_store(:tiercel_store, server.url, timeout: 5)
          many = Array.new(10_000) { |index| "key-#{index}" }
          assert store.write_multi([*%w[a b c], *many].to_h { |key| [key, "old"] })
          store.write("tagged", "old", tags: ["t"])
          store.write_counter("n", 5)
          store.write("lock", "mine", unless_exist: true, expires_in: 60, race_condition_ttl: 5)
          proxy.sever
          capture_reports do
            refute store.delete("a")
            assert_equal 0, store.delete_multi(%w[b n lock])
            refute store.invalidate_tags("t")
            many.each_slice(1_000) { |some| store.delete_multi(some) }
          end
          assert_equal "old", direct.read("a"), "the server has not received the delete"
          guard(store).undelivered.close # the next call sends the list
          proxy.heal
          assert_equal "old", store.read("c") # sends the list, or a part of it
          10.times { store.read("other") }
          assert_empty direct.read_multi(*many)
          assert_equal [nil, nil, nil], [direct.read("a"), direct.read("b"), store.read("tagged")]
          assert_equal 5, store.read_counter("n"), "counters stay"
          assert_equal "mine", store.read("lock"), "another process may have written it since"
          assert_equal "new", store.fetch("a") { "new" }
        end
      end
    end

    define_method(:"test_no_process_reads_what_another_has_deleted_in_an_outage_#{name}") do
      server_class.run do |server|
        build(server).write_multi(KEYS.to_h { |key| [key, "old"] })
        assert_nothing_deleted_is_read(server.pause)
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
