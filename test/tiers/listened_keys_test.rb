# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/listening_processes"
require "support/moved_clock"

# The keys for which a machine's listeners receive messages: their namespace, their number and their use.
class TiersListenedKeysTest < Tiercel::TestCase
  include ListeningProcesses

  def test_the_server_sends_the_keys_of_the_namespace_alone
    store = listening(machine(:one, namespace: "app"))
    kept(store, "key", "value", at: "app:key")
    told = store.backend.near.bus.stats[:invalidations]
    Array.new(100) { |number| server.command("SET", "other:#{number}", "x") }
    server.command("SET", "app:key", "x")
    wait_until("the change of its key") { store.backend.near.get("app:key").nil? }
    # The probe's key may expire at any time, which sends a message.
    assert_operator store.backend.near.bus.stats[:invalidations], :<=, told + 2
  end

  # A stopped machine must not use memory of everybody's server.
  def test_nothing_waits_in_the_server_for_a_process_that_is_stopped_but_its_own_keys
    stopped = process(:one, namespace: "app") { |store| wait_until("a seat") { listens?(store) } }
    Process.kill(:STOP, stopped)
    value = "x" * 1_000
    20.times do |round|
      server.command("MSET", *Array.new(500) { |number| ["other:#{round}:#{number}" * 10, value] }.flatten)
    end
    waiting = server.command("CLIENT", "LIST", "TYPE", "pubsub").scan(/omem=(\d+)/).flatten
    assert_equal ["0"], waiting.uniq # the server may not have noticed the end of an earlier listener
  ensure
    Process.kill(:CONT, stopped) if stopped
  end

  def test_a_copy_of_another_namespace_lives_a_second
    store = listening(machine(:one, namespace: "app"))
    other = { namespace: "other", expires_in: 600 }
    kept(store, "key", "value", at: "app:key")
    store.write("key", "value", **other)
    wait_until("a copy") do
      store.read("key", namespace: "other") && store.backend.near.get("other:key")
    end
    MovedClock.by(1.5) do
      wait_until("trust") { store.backend.near.get("app:key") }
      assert_nil store.backend.near.get("other:key")
    end
  end

  def test_stores_of_two_namespaces_have_a_segment_each
    paths = [nil, "one", "two", -> { "three" }].map do |namespace|
      store = ActiveSupport::Cache::TiercelStore.new("shared:listeners-#{Process.pid}?size=1MB", server.url, namespace:)
      @stores << store
      store.backend.near.backend.segment.path
    end
    assert_equal paths[0], paths[3]
    assert_equal 3, paths.uniq.size
  ensure
    paths&.uniq&.each do |path|
      FileUtils.rm_f(Dir["#{path}*"] + Dir[File.join(File.dirname(path), ".*#{File.basename(path)}*")])
    end
  end

  def test_what_is_read_near_counts_as_used_where_the_server_evicts_by_use
    own = Tiercel::Lab::Servers::Redis.new(maxmemory: "64mb", policy: "allkeys-lfu").start
    own.command("CONFIG", "SET", "lfu-log-factor", "0")
    store = listening(machine(:one, url: own.url))
    kept(store, "key", "value")
    used = -> { Integer(own.command("OBJECT", "FREQ", "key")) }
    before = used.call
    near = false
    wait_until("uses") do
      near |= !store.backend.near.get("key").nil?
      used.call > before
    end
    assert near
  ensure
    own&.stop
  end
end
