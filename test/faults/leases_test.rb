# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "timeout"
require "tiercel/lab/servers"

# Servers that fail between the steps of a fetch.
class LeaseFaultsTest < Tiercel::TestCase
  SERVERS = [Tiercel::Lab::Servers::Memcached, Tiercel::Lab::Servers::Redis].freeze
  # Seconds of a lease for which no caller should have to wait.
  LEASE_TTL = 60
  # Seconds in which a release that the caller does not wait for fails.
  PAUSE = 0.3
  # Seconds: far less than a lease.
  DELAY = 30

  def each_server(**options)
    SERVERS.each do |server_class|
      server = server_class.new.start
      store = Tiercel.new(server.url, lease: true, lease_ttl: LEASE_TTL, timeout: 1, **options)
      store.write("warm", 1)
      yield server, store
    ensure
      store&.close
      server&.stop
    end
  end

  # The take reaches the server, and its reply arrives after the timeout.
  def test_a_take_whose_reply_was_lost_is_known_by_its_holder
    each_server(breaker: false) do |server, store|
      lose_the_reply(server, store, :compare_exchange)
      runs = 0
      arrived = Tiercel.new(server.url, timeout: 10).backend
      value = without_reports do
        store.fetch("lost") do
          runs += 1
          wait_until("the take to arrive") { arrived.get("lost") }
          "made"
        end
      end
      assert_equal ["made", 1], [value, runs], server.url
      assert_equal "made", Tiercel.new(server.url, timeout: 20).read("lost"), server.url
      assert_equal("made", store.fetch("lost") { flunk "it is stored" })
    end
  end

  # The caller can neither fill nor release while the server is paused, yet later callers do not wait for that lease.
  def test_a_take_that_arrives_when_its_caller_has_gone_delays_nobody
    WAYS.each do |way, fetch|
      each_server(timeout: 0.05) do |server, store|
        paused_at_the_take(server, store) { capture_reports { assert_equal "made", fetch.call(store, "made") } }
        assert_not_delayed(server, fetch, %w[made again], way)
      end
    end
  end

  def test_a_thread_that_is_killed_at_its_take_delays_nobody
    WAYS.each do |way, fetch|
      each_server(timeout: 5) do |server, store|
        paused_at_the_take(server, store) do |paused|
          caller = Thread.new { fetch.call(store, "made") }
          paused.pop
          caller.kill.join
        end
        assert_not_delayed(server, fetch, ["again"], way)
      end
    end
  end

  # The server is paused when a failing block releases its lease.
  def test_a_lease_that_could_not_be_given_back_delays_nobody
    WAYS.each do |way, fetch|
      each_server(timeout: 0.05) do |server, store|
        capture_reports do
          assert_raises(IOError) { fetch.call(store, "made") { server.pause && raise(IOError) } }
          sleep PAUSE
          server.resume
        end
        assert_not_delayed(server, fetch, ["again"], way)
      end
    end
  end

  def test_a_server_that_is_gone_stops_nobody
    each_server(breaker: false) do |server, store|
      value = without_reports { store.fetch("down") { server.stop && "made" } }
      assert_equal "made", value
      values = without_reports { Array.new(3) { Thread.new { store.fetch("down") { "again" } } }.map(&:value) }
      assert_equal ["again"], values.uniq
    end
  end

  WAYS = {
    fetch: ->(store, value, &block) { store.fetch("lost") { block&.call || value } },
    fetch_multi: lambda do |store, value, &block|
      store.fetch_multi("lost", "too") { block&.call || value }.fetch("lost")
    end,
  }.freeze

  private

  def assert_not_delayed(server, fetch, values, message)
    other = Tiercel.new(server.url, lease: true, lease_ttl: LEASE_TTL, timeout: 10)
    began = Tiercel::Clock.monotonic
    value = fetch.call(other, "again")
    assert_operator Tiercel::Clock.monotonic - began, :<, DELAY, "#{message}, #{server}"
    assert_includes values, value
    assert_includes values, other.read("lost"), "it is stored"
  ensure
    other&.close
  end

  # The server stops when the first take is sent, and continues later.
  def paused_at_the_take(server, store)
    paused = Queue.new
    before_the_take(store) do
      server.pause
      paused << 1
    end
    yield paused
  ensure
    server.resume
  end

  # The first take is sent while the server is stopped and times out; then the server continues.
  def lose_the_reply(server, store, operation)
    before_the_take(store) { server.pause }
    store.backend.singleton_class.prepend(Module.new do
      define_method(operation) do |*arguments|
        super(*arguments)
      ensure
        server.resume
      end
    end)
  end

  def before_the_take(store, &before)
    first = true
    store.backend.singleton_class.prepend(Module.new do
      %i[compare_exchange compare_exchange_multi].each do |name|
        define_method(name) do |*arguments|
          before.call if first
          first = false
          super(*arguments)
        end
      end
    end)
  end
end
