# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "support/counting_proxy"
require "support/fetch_places"

# `fetch_multi` over several nodes, counted on the wire. A cold call reads, takes and fills with one trip per step and
# node, and calls the nodes concurrently.
class FetchNodesTest < Tiercel::TestCase
  CANDIDATES = Array.new(200) { |index| "name/#{index}" }.freeze
  OTHERS = Array.new(60) { |index| "other/#{index}" }.freeze
  OPTIONS = { lease: true, lease_ttl: 60, timeout: 20 }.freeze

  # Holds each node's answer back until all nodes have received as many requests as that one.
  class Gate
    PATIENCE = 60

    # @return [Integer] number of answers during which no other node was called
    attr_reader :alone

    def initialize(nodes)
      @nodes = nodes
      @lock = Mutex.new
      @changed = ConditionVariable.new
      @open = true
      @alone = 0
    end

    def asked(node)
      @lock.synchronize do
        @asked[node] += 1 unless @open
        @changed.broadcast
      end
    end

    def answers(node)
      ends = Tiercel::Clock.monotonic + PATIENCE
      @lock.synchronize do
        until @open || together?(node)
          left = ends - Tiercel::Clock.monotonic
          break @alone += 1 if left <= 0
          @changed.wait(@lock, left)
        end
      end
    end

    def closed
      @lock.synchronize { @asked = Hash.new(0); @open = false }
      yield
    ensure
      @lock.synchronize { @open = true; @changed.broadcast }
    end

    private

    def together?(node) = @asked.size == @nodes && @asked.values.min >= @asked[node]
  end

  def test_a_memcached_ring
    ring = FetchPlaces::Servers::MemcachedRing.new(count: 3).start
    gate = Gate.new(3)
    behind_proxies(ring.ports, gate) do |proxies|
      url = "memcached://#{proxies.map { |proxy| "127.0.0.1:#{proxy.port}" }.join(",")}"
      assert_steps(url, proxies) { |calls| gate.closed(&calls) }
    end
    assert_equal 0, gate.alone
  ensure
    ring&.stop
  end

  def test_a_redis_cluster
    FetchPlaces::Servers::RedisCluster.run do |cluster|
      gate = Gate.new(3)
      behind_proxies(cluster.ports, gate) do |proxies|
        cluster.nodes.zip(proxies) { |node, proxy| node.command("CONFIG", "SET", "cluster-announce-port", proxy.port) }
        wait_until("all know the proxies", within: 30) { announced?(cluster, proxies) }
        assert_steps("redis+cluster://127.0.0.1:#{proxies.first.port}", proxies) { |calls| gate.closed(&calls) }
      end
      assert_equal 0, gate.alone
    end
  end

  private

  def behind_proxies(ports, gate = nil)
    proxies = ports.map { |port| CountingProxy.new(port, gate: gate) }
    yield proxies
  ensure
    proxies&.each(&:close)
  end

  def announced?(cluster, proxies)
    cluster.nodes.all? do |node|
      node.command("CLUSTER", "NODES").scan(/:(\d+)@/).flatten.map(&:to_i).sort == proxies.map(&:port).sort
    end
  end

  # Slices whose sizes do not depend on the speed of the machine.
  def with_slices_of_any_duration(store)
    fetch = store.instance_variable_get(:@settings).fetch
    fetch.define_singleton_method(:next_slice) { |size, _took| super(size, 0.0) }
    store
  end

  def assert_steps(url, proxies, &around)
    store = with_slices_of_any_duration(Tiercel.new(url, **OPTIONS))
    store.clear
    warm(store)
    names = evenly(store, proxies)
    cold = trips(proxies) { around.call(-> { store.fetch_multi(*names) { |name| name } }) }
    assert_equal [7, 7, 7], cold, "read; take and fill of 8, 32 and 20 names"
    assert_equal([1, 1, 1], trips(proxies) { around.call(-> { store.fetch_multi(*names) { flunk } }) })
    assert_equal names, store.read_multi(*names).keys
  ensure
    store&.close
  end

  # @return [Array<String>] 60 names, three in a row on three nodes: each slice asks every node. The nodes of a ring
  #   have random ports, and so a random share of the names.
  def evenly(store, proxies)
    of_nodes = CANDIDATES.group_by { |name| trips(proxies) { store.exist?(name) } }.values
    of_nodes.map { |names| names.first(20) }.transpose.flatten
  end

  # Opens connections and loads the scripts on all nodes.
  def warm(store)
    values = store.fetch_multi(*OTHERS) { |name| name }
    assert_equal OTHERS, values.keys
  end

  def trips(proxies)
    before = proxies.map(&:trips)
    yield
    proxies.map(&:trips).zip(before).map { |now, was| now - was }
  end
end
