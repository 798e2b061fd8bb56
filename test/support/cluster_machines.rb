# frozen_string_literal: true

require "support/machines"
require "support/redis_clusters"
require "tiercel/backends/redis"

# {Machines} over a Redis Cluster.
module ClusterMachines
  include Machines
  include RedisClusters

  # So that a test need not wait for seconds.
  INTERVAL = 0.1

  # One cluster for all tests of a class.
  module Server
    def server = @server ||= Tiercel::Lab::Servers::RedisCluster.new.start
  end

  def self.included(test_class) = test_class.extend(Server)

  # Client configuration that leads to each node through a proxy of its own.
  class Detour
    def initialize(config, proxies)
      @config = config
      @proxies = proxies
    end

    def startup_nodes = @config.startup_nodes

    def client_config_for_node(place)
      detour = @proxies[place]&.url&.slice(%r{//([^/]+)}, 1)
      @config.client_config_for_node(detour || place)
    end
  end

  def empty = server.nodes.each { |node| node.command("FLUSHALL") }

  def teardown
    super
    @proxies&.each_value(&:stop)
    @added&.each(&:stop)
  end

  def machine(name, cluster: server, interval: INTERVAL, **)
    super(name, url: cluster.url, error_handler: ->(**) {}, breaker: false, **).tap do |store|
      store.backend.near.bus.interval = interval
    end
  end

  # Commands go to the nodes as ever, what they have to tell comes through a proxy of each.
  def listen_through_proxies(store, cluster = server)
    @proxies = cluster.nodes.to_h do |node|
      ["#{node.host}:#{node.port}", Tiercel::Lab::Network::Proxy.new(node).start]
    end
    listen_through(store, @proxies)
  end

  # @param proxies [Hash{String => Tiercel::Lab::Network::Proxy}] by "HOST:PORT"
  def listen_through(store, proxies)
    address = store.backend.last.instance_variable_get(:@listening)
    address.define_singleton_method(:config) { |**options| Detour.new(super(**options), proxies) }
    store
  end

  def proxy(node) = @proxies.fetch("#{node.host}:#{node.port}")

  def seen(store, key, value, within: SOON)
    wait_until("#{key} to be #{value.inspect}", within:) { store.read(key) == value }
  end

  # Until a heartbeat is confirmed that was sent from now on.
  def heard(store)
    now = coverage(store).now
    wait_until("a confirmed heartbeat", within: 10) { coverage(store).covered >= now }
  end
end
