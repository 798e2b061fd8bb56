# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/churn"
require "support/cluster_machines"

# Two machines over a Redis Cluster: what its nodes tell them is cut off, held back and released at random, while slots
# move with their keys, and masters and replicas change places.
class TiersBusClusterChurnTest < Tiercel::TestCase
  include Churn
  include ClusterMachines

  SHORT = Churn::Pace.new(0.4, 0.1, 1, 200)
  LONG = Churn::Pace.new(3.0, 1.0, 90, 60_000)

  def with_proxies(cluster)
    proxies = Array.new(2) do
      (cluster.nodes + @added.to_a).to_h do |node|
        ["#{node.host}:#{node.port}", Tiercel::Lab::Network::Proxy.new(node).start]
      end
    end
    yield proxies
  ensure
    proxies&.flat_map(&:values)&.each(&:stop)
  end

  def while_disturbed(*ways)
    threads = ways.map { |way| Thread.new { loop { way.call } } }
    yield
  ensure
    threads.each(&:kill).each(&:join)
  end

  def run_over(cluster, pace, *ways)
    with_proxies(cluster) do |proxies|
      faults = -> { disturb(proxies.flat_map(&:values), pace, Random.new(1)) }
      while_disturbed(faults, *ways) do
        churn(pace) do |number|
          store = machine(:"machine#{number % 2}", cluster:, timeout: 0.5)
          listen_through(store, proxies[number % 2])
          read_and_write(store, number, pace)
        end
      end
    end
  end

  # Of one of the keys, to any other master.
  def move_a_slot(cluster, random)
    key = "key:#{random.rand(Churn::KEYS * Churn::PROCESSES)}"
    from = node_of(cluster, key) or return
    to = (masters(cluster) - [from]).sample(random:)
    to.command("CLUSTER", "SETSLOT", slot(key), "IMPORTING", id(from))
    from.command("CLUSTER", "SETSLOT", slot(key), "MIGRATING", id(to))
    sleep random.rand(0.1)
    settle(key, from, to, cluster)
  end

  def settle(key, from, to, cluster)
    100.times do
      from.command("MIGRATE", to.host, to.port, key, 0, 1000)
      break if from.command("CLUSTER", "COUNTKEYSINSLOT", slot(key)) == "0"
      sleep 0.02 # a heartbeat's key is gone soon
    end
    [to, from, *(masters(cluster) - [to, from])].each do |node|
      node.command("CLUSTER", "SETSLOT", slot(key), "NODE", id(to))
    end
  end

  def masters(cluster) = (cluster.nodes + @added.to_a).select { |node| master?(node) }

  def test_no_stale_read_beyond_the_bound
    random = Random.new(2)
    run_over(server, SHORT, -> { sleep(0.05) || move_a_slot(server, random) })
  end

  def test_masters_change_places
    skip "90 seconds: --long" unless long?
    Tiercel::Lab::Servers::RedisCluster.run do |cluster|
      replicate(cluster, cluster.nodes.first)
      replicate(cluster, cluster.nodes.last)
      join(cluster)
      random = Random.new(3)
      fail_over = lambda do
        sleep 5 + random.rand(5.0)
        (cluster.nodes + @added).reject { |node| master?(node) }.sample(random:).command("CLUSTER", "FAILOVER")
      end
      tell(run_over(cluster, LONG, -> { sleep(0.5) || move_a_slot(cluster, random) }, fail_over))
    end
  end
end
