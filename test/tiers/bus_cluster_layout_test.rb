# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/tiers"
require "support/cluster_machines"

# The bus over a Redis Cluster whose masters are others after a while.
class TiersBusClusterLayoutTest < Tiercel::TestCase
  include ClusterMachines

  NODE_TIMEOUT_MS = 500

  # A cluster of its own.
  def self.server = nil
  def empty = nil

  def with_cluster(&) = Tiercel::Lab::Servers::RedisCluster.run(node_timeout_ms: NODE_TIMEOUT_MS, &)

  # Reads all the while, as long as the block runs.
  #
  # @yieldparam changed [Proc] to be called when the key has got another value than "old"
  # @return [Float] seconds after that when the last "old" was read
  def oldest_read(store, key)
    changed_at = last = nil
    reader = Thread.new do
      loop do
        began = Tiercel::Clock.monotonic
        last = began if store.read(key) == "old"
        sleep 0.002
      end
    end
    yield -> { changed_at = Tiercel::Clock.monotonic }
    last - changed_at
  ensure
    reader.kill.join
  end

  # It is stopped, its replica takes its place, and it goes on: until it hears of that, it takes itself for the master.
  def test_a_master_that_was_stopped_while_its_replica_took_its_place
    with_cluster do |cluster|
      node, key = key_of_each(cluster).first
      replica = replicate(cluster, node, node_timeout_ms: NODE_TIMEOUT_MS)
      store = listening(machine(:one, cluster:, interval: 1.0))
      store.write(key, "old")
      near(store, key, "old")
      age = oldest_read(store, key) do |changed|
        node.pause
        wait_until("the replica to be the master", within: 20) { replica.command("SET", key, "new") == "OK" }
        changed.call
        node.resume
        wait_until("the listener to follow", within: 20) { gaps(store) > 1 && coverage(store).trusted? }
      end
      assert_operator age, :<, Tiercel::Tiers::Coverage::TRUST_SECONDS
      is_heard(store, key, replica)
      hand_back(store, key, node) if long?
    end
  end

  # Who asks it nothing until it goes on is told what held before, as long as it has not heard of the others.
  def test_while_it_is_stopped_its_keys_are_asked_of_the_one_that_took_its_place
    skip "waits for a failover: --long" unless long?
    with_cluster do |cluster|
      node, key = key_of_each(cluster).first
      replicate(cluster, node, node_timeout_ms: NODE_TIMEOUT_MS)
      store = listening(machine(:one, cluster:, timeout: 0.5))
      store.write(key, "value")
      near(store, key, "value")
      node.pause
      wait_until("the listener to follow", within: 20) { gaps(store) > 1 && coverage(store).trusted? }
      store.read("nothing")
      assert_equal "value", store.read(key)
      near(store, key, "value")
    ensure
      node&.resume
    end
  end

  def hand_back(store, key, node)
    wait_until("the old master to follow", within: 20) do
      node.command("INFO", "replication").include?("master_link_status:up")
    end
    before = gaps(store)
    assert_equal "OK", node.command("CLUSTER", "FAILOVER")
    wait_until("it to be the master again", within: 20) { node.command("DEL", key) == "1" }
    wait_until("the listener to follow", within: 20) { gaps(store) > before && coverage(store).trusted? }
    assert_nil store.read(key)
    is_heard(store, key, node)
  end

  def is_heard(store, key, node)
    store.write(key, "newer")
    near(store, key, "newer")
    node.command("DEL", key)
    seen(store, key, nil)
    store.write(key, "newer")
    near(store, key, "newer")
  end

  # Whoever is the master of the key, and whoever follows it, change places again and again.
  def test_masters_that_are_stopped_or_killed_again_and_again
    skip "a minute: --long" unless long?
    with_cluster do |cluster|
      node, key = key_of_each(cluster).first
      pair = [node, replicate(cluster, node, node_timeout_ms: NODE_TIMEOUT_MS)]
      store = listening(machine(:one, cluster:, interval: 1.0))
      ages = [:taken_over, :killed, :taken_over, :killed, :taken_over].map do |way|
        send(way, store, key, *pair).tap { pair.reverse! }
      end
      puts "oldest reads: #{ages.map { |age| age.round(2) }.join(", ")} s"
      ages.each { |age| assert_operator age, :<, Tiercel::Tiers::Coverage::TRUST_SECONDS }
    end
  end

  # The master is stopped for less time than anybody needs to notice.
  def taken_over(store, key, master, replica)
    changing_places(store, key, master, replica) do
      master.pause
      assert_equal "OK", replica.command("CLUSTER", "FAILOVER", "TAKEOVER")
      Thread.new { sleep(0.3) && master.resume }
    end
  end

  def killed(store, key, master, replica)
    changing_places(store, key, master, replica) do
      master.kill
      Thread.new { sleep(4) && master.start }
    end
  end

  def changing_places(store, key, master, replica, &)
    wait_until("trust", within: 20) { coverage(store).trusted? && store.write(key, "old") }
    wait_until("a replica", within: 20) do
      replica.command("INFO", "replication").include?("master_link_status:up") && replica.command("EXISTS", key)
    end
    near(store, key, "old")
    replaced(store, key, replica, &).tap do
      wait_until("the old master to follow", within: 30) { !master?(master) }
      sleep 1
    end
  end

  def replaced(store, key, replica)
    oldest_read(store, key) do |changed|
      back = yield
      wait_until("the replica to be the master", within: 20) { replica.command("SET", key, "new") == "OK" }
      changed.call
      back.join
      wait_until("trust", within: 20) { coverage(store).trusted? && store.read(key) != "old" }
      sleep 4
    end
  end

  # It takes writes for keys that are on their way to it before any slot is its own, and before it is listened to.
  def test_a_slot_on_its_way_to_a_new_master
    with_cluster do |cluster|
      store = listening(machine(:one, cluster:, interval: 1.0))
      from, key = key_of_each(cluster).first
      store.write(key, "old")
      to = join(cluster, node_timeout_ms: NODE_TIMEOUT_MS)
      send_off(key, from, to)
      store.read(key)
      age = oldest_read(store, key) do |changed|
        machine(:two, cluster:).write(key, "new")
        changed.call
        wait_until("it to be found") { gaps(store) > 1 && coverage(store).trusted? }
        sleep 0.1
      end
      assert_operator age, :<, Tiercel::Tiers::Coverage::TRUST_SECONDS
      arrives(store, key, from, to, cluster)
    end
  end

  def send_off(key, from, to)
    assert_equal "OK", to.command("CLUSTER", "SETSLOT", slot(key), "IMPORTING", id(from))
    assert_equal "OK", from.command("CLUSTER", "SETSLOT", slot(key), "MIGRATING", id(to))
    assert_equal "OK", from.command("MIGRATE", to.host, to.port, key, 0, 1000)
  end

  # It is listened to, though it has no slot for a heartbeat.
  def arrives(store, key, from, to, cluster)
    near(store, key, "new")
    before = gaps(store)
    machine(:two, cluster:).write(key, "newer")
    seen(store, key, "newer")
    hand_over(slot(key), from, to, cluster.nodes)
    near(store, key, "newer")
    heard(store)
    to.command("DEL", key)
    seen(store, key, nil)
    assert_equal before, gaps(store)
  end
end
