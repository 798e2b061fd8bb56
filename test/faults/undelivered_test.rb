# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache"
require "active_support/cache/tiercel_store"
require "tiercel/lab/network"
require "minitest/mock"
require "support/forked_children"
require "tiercel/lab/servers"

# A delete that meets an outage is sent again when the server answers: on real servers behind a proxy.
class UndeliveredFaultsTest < Tiercel::TestCase
  Servers = Tiercel::Lab::Servers

  { redis: Servers::Redis, memcached: Servers::Memcached }.each do |name, server_class|
    define_method(:"test_a_deleted_value_does_not_come_back_with_the_server_#{name}") do
      server_class.run do |server|
        Tiercel::Lab::Network::Proxy.run(server) do |proxy|
          store = ActiveSupport::Cache.lookup_store(:tiercel_store, proxy.url, breaker: false)
          direct = ActiveSupport::Cache.lookup_store(:tiercel_store, server.url)
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
          store = ActiveSupport::Cache.lookup_store(:tiercel_store, proxy.url, breaker: false)
          keys = Array.new(10_000) { |index| "key-#{index}" }
          store.write_multi(keys.to_h { |key| [key, "old"] })
          proxy.sever
          capture_reports { keys.each_slice(1_000) { |some| store.delete_multi(some) } }
          proxy.heal
          assert_nil store.read(keys.last) # sends the list, or a part of it
          10.times { store.read("other") }
          direct = ActiveSupport::Cache.lookup_store(:tiercel_store, server.url)
          assert_empty direct.read_multi(*keys)
        end
      end
    end
  end

  # Six processes delete 1,000 keys a second while the server is stopped, and read what they have deleted. No process
  # reads a value again that it has deleted itself; once every process has sent its list, nobody reads any.
  [1, 10, 60].each do |seconds|
    { redis: Servers::Redis, memcached: Servers::Memcached }.each do |name, server_class|
      define_method(:"test_a_#{name}_that_is_stopped_for_#{seconds}_s") do
        skip "stops a server: --long" unless long?
        server_class.run { |server| stop_for(seconds, server) }
      end
    end
  end

  PROCESSES = 6
  RATE = 1_000.0 / PROCESSES
  # The longest cool-down of a breaker, a budget, and 5 times slack for the wait of a process.
  UNTIL_ALL_ARE_SENT = 5 + 0.25 + 2

  def stop_for(seconds, server)
    count = ((seconds + 1) * RATE).to_i
    keys = Array.new(PROCESSES) { |process| Array.new(count) { |index| "#{process}/#{index}" } }
    direct = Tiercel.new(server.url, timeout: 5)
    keys.flatten.each_slice(1_000) { |some| direct.write_multi(some.to_h { |key| [key, "old"] }) }
    began = Tiercel::Clock.monotonic + 1
    back = began + seconds
    stopper = Thread.new do
      sleep [began - Tiercel::Clock.monotonic, 0].max
      Process.kill(:STOP, server.pid)
      sleep [back - Tiercel::Clock.monotonic, 0].max
      Process.kill(:CONT, server.pid)
    end
    children = ForkedChildren.new(PROCESSES, within: seconds + 60) do |index|
      delete_and_read(server, keys, index, back)
    end
    outcomes = children.run
    stopper.join
    assert_empty outcomes.filter_map(&:failure)
    outcomes.each do |outcome|
      assert_equal({ own: [], any: [] }, outcome.value.slice(:own, :any))
      assert_operator outcome.value[:grown_bytes], :<, 32 * 1024 * 1024
    end
  end

  def delete_and_read(server, keys, index, back)
    store = Tiercel.new(server.url, error_handler: ->(**) {})
    own = []
    grown = memory_bytes
    deleted = 0
    until Tiercel::Clock.monotonic > back + UNTIL_ALL_ARE_SENT
      due = ((Tiercel::Clock.monotonic - back + (keys[index].size / RATE)) * RATE).to_i.clamp(deleted, keys[index].size)
      keys[index][deleted...due].each { |key| store.delete(key) }
      deleted = due
      key = keys[index][rand(deleted)] if deleted.positive?
      own << key if key && store.read(key)
      sleep 0.002
    end
    any = keys.flatten.each_slice(500).flat_map { |some| store.read_multi(*some).keys }
    { own:, any:, grown_bytes: memory_bytes - grown }
  ensure
    store&.close
  end

  def memory_bytes = File.read("/proc/self/statm").split[1].to_i * 4_096

  # With a budget much longer than the idle time, the check before a counter must still happen.
  def test_a_counter_survives_that_the_server_closed_an_idle_connection
    Servers::Redis.run do |server|
      [0.25, 30].each do |timeout|
        store = ActiveSupport::Cache.lookup_store(:tiercel_store, server.url, timeout:)
        assert_equal 1, store.increment("n#{timeout}")
        server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        reports = capture_reports { travel_monotonic(5) { assert_equal 2, store.increment("n#{timeout}") } }
        assert_empty reports
      end
    end
  end
end
