# frozen_string_literal: true
# suites: store*

require "test_helper"
require "active_support/cache/tiercel_store"
require "support/consecutive_misses"
require "support/counting_proxy"
$LOAD_PATH.push(File.expand_path("../../../tiercel-lab/lib", __dir__))
require "tiercel/lab/servers"

# After consecutive misses, the read and the take of a `fetch` are one trip; the read returns any existing entry.
class FetchReadAndTakeTest < Tiercel::TestCase
  SERVERS = [Tiercel::Lab::Servers::Memcached, Tiercel::Lab::Servers::Redis].freeze
  # A timeout in seconds for a busy machine.
  PATIENCE = { timeout: 5 }.freeze

  def each_server(**options)
    SERVERS.each do |server_class|
      server = server_class.new.start
      proxy = CountingProxy.new(Integer(server.url[/:(\d+)/, 1]))
      store = Tiercel.new(server.url.sub(/:\d+/, ":#{proxy.port}"), **PATIENCE, **options)
      store.fetch("script") { 1 } # Redis receives the script with its first use
      store.fetch("script") { 1 }
      yield store, proxy, server
    ensure
      store&.close
      proxy&.close
      server&.stop
    end
  end

  def fetch(store, name) = store.fetch(name) { "made #{name}" }

  def test_trips_in_a_run_and_after_it
    each_server do |store, proxy|
      trips = ->(name) { proxy.count { assert_equal "made #{name}", fetch(store, name) } }
      assert_equal [3, 3, 3, 2, 2], %w[a b c d e].map(&trips), store.to_s
      assert_equal [1, 1], %w[a e].map(&trips), "a hit is one trip, the one after the run too"
      assert_equal [3, 3, 3, 2], %w[f g h i].map(&trips), "a run begins anew"
      assert_equal %w[a b c d e].map { |name| "made #{name}" }, %w[a b c d e].map { |name| store.read(name) }
    end
  end

  def test_trips_within_a_request
    each_server do |store, proxy|
      store.with_local_cache do
        %w[a b c].each { |name| fetch(store, name) }
        assert_equal(2, proxy.count { fetch(store, "d") })
        assert_equal(0, proxy.count { assert_equal "made d", fetch(store, "d") })
        Tiercel.new(store.backend.to_s).then { |other| other.write("there", "theirs") && other.close }
        assert_equal(1, proxy.count { assert_equal "theirs", fetch(store, "there") })
        assert_equal(0, proxy.count { assert_equal "theirs", store.read("there") })
      end
    end
  end

  # An entry that is not a value has the same effect.
  def test_an_entry_of_another_version_ends_a_run
    record = Struct.new(:cache_key, :cache_version)
    each_server do |store, proxy|
      store.write(record.new("record", "1"), "old")
      %w[a b].each { |name| fetch(store, name) }
      assert_equal("new", store.fetch(record.new("record", "2")) { "new" })
      assert_equal [3, 3], %w[c d].map { |name| proxy.count { fetch(store, name) } }, store.to_s
    end
  end

  # If a block stores nothing or raises, its miss does not count, and its lease is released.
  def test_what_is_not_stored_makes_no_run
    each_server do |store, proxy|
      4.times { |index| store.fetch("nil#{index}", skip_nil: true) { nil } }
      4.times { |index| assert_raises(IOError) { store.fetch("raises#{index}") { raise IOError } } }
      assert_equal(3, proxy.count { fetch(store, "a") })
    end
  end

  def test_what_is_there_is_what_a_read_gives
    each_server do |store, _, server|
      ConsecutiveMisses.always(store)
      other = Tiercel.new(server.url, **PATIENCE)
      other.write("nil", nil)
      other.write("ended", "old", expires_in: 0.05)
      other.write("counter", 5, raw: true)
      assert_nil store.fetch("nil") { flunk }
      assert_equal "5", store.fetch("counter") { flunk }.to_s
      sleep 0.06
      assert_equal "made ended", fetch(store, "ended")
      assert_equal "made ended", other.read("ended")
    end
  end

  def test_a_lease_of_somebody_else_is_waited_for
    each_server do |store, _, server|
      ConsecutiveMisses.always(store)
      other = Tiercel.new(server.url, **PATIENCE)
      begun = Queue.new
      holder = Thread.new { other.fetch("slow") { begun << 1; sleep 0.2; "theirs" } }
      begun.pop
      assert_equal("theirs", store.fetch("slow") { flunk })
      assert_equal "theirs", holder.value
    end
  end

  def test_one_of_many_threads_runs_the_block
    each_server(pool: 20) do |store|
      ConsecutiveMisses.always(store)
      runs = Queue.new
      values = Array.new(20) { Thread.new { store.fetch("herd") { runs << 1; sleep 0.05; "made" } } }.map(&:value)
      assert_equal [["made"], 1], [values.uniq, runs.size]
    end
  end

  # The process itself holds the lease, so a caller that finds it joins the running block.
  def test_a_caller_of_the_same_process_joins_a_block_that_runs
    each_server do |store, proxy|
      ConsecutiveMisses.always(store)
      gate, begun = Queue.new, Queue.new
      first = Thread.new { store.fetch("key") { (begun << 1) && gate.pop } }
      begun.pop
      second = nil
      before = proxy.trips
      trips = proxy.count do
        second = Thread.new { store.fetch("key") { flunk } }
        wait_until("it has asked") { proxy.trips > before }
        sleep 0.1
      end
      gate << "made"
      assert_equal [%w[made made], 1], [[first.value, second.value], trips], store.to_s
    end
  end

  def test_what_was_deleted_while_its_block_ran_does_not_come_back
    each_server do |store, _, server|
      ConsecutiveMisses.always(store)
      other = Tiercel.new(server.url, **PATIENCE)
      assert_equal("old", store.fetch("key") { other.delete("key") && "old" })
      assert_nil other.read("key")
    end
  end

  # A full server, a replica, too few replicas, paused writes: a hit is served, and nothing is reported.
  REFUSALS = {
    full: [%w[CONFIG SET maxmemory 1], %w[CONFIG SET maxmemory 0]],
    replica: [%w[REPLICAOF 127.0.0.1 1], %w[REPLICAOF NO ONE]],
    short_of_replicas: [%w[CONFIG SET min-replicas-to-write 1], %w[CONFIG SET min-replicas-to-write 0]],
    paused: [%w[CLIENT PAUSE 60000 WRITE], %w[CLIENT UNPAUSE]],
  }.freeze

  %i[hiredis ruby].each do |driver|
    define_method(:"test_redis_serves_hits_where_it_takes_no_writes_#{driver}") { assert_hits_served(driver) }
  end

  def assert_hits_served(driver)
    server = Tiercel::Lab::Servers::Redis.new.start
    store = ConsecutiveMisses.always(Tiercel.new(server.url, timeout: 2, driver: driver))
    store.write("key", "value")
    REFUSALS.each do |name, (refuse, accept)|
      server.command(*refuse)
      reports = capture_reports do
        2.times { assert_equal("value", store.fetch("key") { flunk name }) }
      end
      assert_empty reports, name
      server.command(*accept)
      assert_equal "made new #{name}", fetch(store, "new #{name}"), name
      assert_equal "made new #{name}", store.read("new #{name}"), name
    end
  ensure
    store&.close
    server&.stop
  end

  # Redis evicts the entry between the read and the take of one trip, to free memory for the reply. The acquired lease
  # must belong to the caller.
  def test_redis_evicts_what_it_has_just_shown
    server = Tiercel::Lab::Servers::Redis.new.start
    %i[hiredis ruby].each do |driver|
      store = ConsecutiveMisses.always(Tiercel.new(server.url, **PATIENCE, driver: driver, compress: false))
      store.write("key", "v" * 1_000_000)
      server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
      server.command("CONFIG", "SET", "maxmemory", (store.backend.stats[:bytes] + 400_000).to_s)
      assert_equal "made key", fetch(store, "key").byteslice(0, 20), driver
      assert_equal "made key", store.read("key"), driver
    ensure
      server.command("CONFIG", "SET", "maxmemory", "0")
      store&.close
    end
  ensure
    server&.stop
  end

  # If the key is absent, a refusal is reported once, like that of a separate take.
  def test_redis_reports_a_take_that_is_refused
    server = Tiercel::Lab::Servers::Redis.new.start
    store = ConsecutiveMisses.always(Tiercel.new(server.url, **PATIENCE))
    fetch(store, "warm")
    server.command("CONFIG", "SET", "maxmemory", "1")
    reports = capture_reports { assert_equal "made key", fetch(store, "key") }
    assert_equal [:take_lease], reports.map { |report| report.context[:method] }.uniq - [:write_entry]
  ensure
    store&.close
    server&.stop
  end
end
