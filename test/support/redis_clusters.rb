# frozen_string_literal: true

$LOAD_PATH.push(File.expand_path("../../tiercel-lab/lib", __dir__))
require "tiercel/lab/servers"
require "redis-cluster-client"

# A Redis Cluster, and what happens to its nodes and slots.
module RedisClusters
  Node = Tiercel::Lab::Servers::RedisCluster::Node

  # A node more, without slots, that all the others know.
  def join(cluster, **)
    added = Node.new(**).start
    (@added ||= []) << added
    first = cluster.nodes.first
    added.command("CLUSTER", "MEET", first.host, first.port, first.bus_port)
    wait_until("all to know a new node", within: 30) do
      cluster.nodes.all? { |node| nodes_line(node, id(added))&.include?(" connected") } &&
        added.command("CLUSTER", "INFO").include?("cluster_state:ok")
    end
    added
  end

  def replicate(cluster, master, **)
    replica = join(cluster, **)
    assert_equal "OK", replica.command("CLUSTER", "REPLICATE", id(master))
    wait_until("a replica to have everything", within: 30) do
      replica.command("INFO", "replication").include?("master_link_status:up") &&
        cluster.nodes.all? { |node| nodes_line(node, id(replica)).include?("slave") }
    end
    replica
  end

  def id(node) = (@ids ||= {})[node] ||= node.command("CLUSTER", "MYID")
  def nodes_line(node, id) = node.command("CLUSTER", "NODES").to_s.lines.find { |line| line.start_with?(id) }
  def master?(node) = node.command("INFO", "replication").to_s.include?("role:master")
  def slot(key) = RedisClient::Cluster::KeySlotConverter.convert(key)

  # @return [Node] that has the key's slot
  def node_of(cluster, key)
    (cluster.nodes + @added.to_a).find { |node| node.command("EXISTS", key).to_s.match?(/\A[01]\z/) }
  end

  # @return [Hash{Node => String}] a key of each master
  def key_of_each(cluster)
    (1..).lazy.map { |number| "key:#{number}" }.each_with_object({}) do |key, found|
      found[node_of(cluster, key)] ||= key
      break found if found.size == cluster.nodes.size
    end
  end

  # No node gives a slot away that still has keys; a heartbeat's is gone soon.
  def hand_over(slot, from, to, nodes)
    [to, from, *(nodes - [to, from])].each do |node|
      wait_until("slot #{slot} to be another's") { node.command("CLUSTER", "SETSLOT", slot, "NODE", id(to)) == "OK" }
    end
  end
end
