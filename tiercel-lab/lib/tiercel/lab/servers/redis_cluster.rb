# frozen_string_literal: true

require_relative "redis"

module Tiercel
  module Lab
    module Servers
      # A Redis Cluster of masters without replicas, the 16,384 slots spread
      # evenly over them.
      class RedisCluster
        # From the Redis Cluster specification.
        SLOTS = 16_384
        JOIN_SECONDS = 30

        # One master: a Redis in cluster mode, with a port for the cluster's bus.
        class Node < Redis
          # @return [Integer] port of the cluster's bus
          attr_reader :bus_port

          # @param node_timeout_ms [Integer] silence after which the others take it for failed
          # @param options see {Redis#initialize}
          def initialize(node_timeout_ms: 2_000, **options)
            super(**options)
            @node_timeout_ms = node_timeout_ms
          end

          private

          def arguments
            @bus_port ||= free_port
            super + ["--cluster-enabled", "yes", "--cluster-config-file", File.join(folder, "nodes.conf"),
                     "--cluster-port", @bus_port.to_s, "--cluster-node-timeout", @node_timeout_ms.to_s]
          end
        end

        # @return [Array<Redis>] the masters, in the order of the URL
        attr_reader :nodes

        # @return [Object] the block's value; the cluster is stopped after it
        def self.run(**options)
          cluster = new(**options).start
          yield cluster
        ensure
          cluster&.stop
        end

        # @param count [Integer] masters, at least 3 (Redis' own minimum)
        # @param options see {Node#initialize}; no socket
        def initialize(count: 3, **options)
          raise ArgumentError, "count #{count.inspect}: a Redis Cluster has at least 3 masters" if count < 3
          raise ArgumentError, "socket: a Redis Cluster has TCP ports only" if options[:socket]
          @nodes = Array.new(count) { Node.new(**options) }
        end

        # Starts the masters, gives them their slots, and waits until each of them says that the cluster is well.
        #
        # @return [self]
        # @raise [Error] if one does not start, or they do not agree in time; all are stopped then
        def start
          nodes.each(&:start)
          join unless joined?
          wait_until_well
          self
        rescue Error
          stop
          raise
        end

        # @return [self]
        def stop = each_node(:stop)

        # @return [self]
        def kill = each_node(:kill)

        # Stops and starts the masters in their places, empty, with the slots they had.
        #
        # @return [self]
        def restart
          each_node(:restart)
          wait_until_well
          self
        end

        # @return [self]
        def pause = each_node(:pause)

        # @return [self]
        def resume = each_node(:resume)

        # @return [Array<Integer, nil>] of the masters, in order
        def pids = nodes.map(&:pid)

        # @return [Array<Integer>] of the masters, in order
        def ports = nodes.map(&:port)

        # @return [String] as the servers say it
        def version = nodes.first.version

        # @return [String] "redis+cluster://HOST:PORT,HOST:PORT,..."
        def url = "redis+cluster://#{nodes.map { |node| "#{Server::HOST}:#{node.port}" }.join(",")}"

        private

        def join
          first = nodes.first
          nodes.each_with_index do |node, index|
            expect_ok node, "CLUSTER", "ADDSLOTSRANGE", *slots(index)
            expect_ok node, "CLUSTER", "SET-CONFIG-EPOCH", index + 1
          end
          nodes.drop(1).each { |node| expect_ok node, "CLUSTER", "MEET", Server::HOST, first.port, first.bus_port }
        end

        # @return [Array(Integer, Integer)] first and last slot of a master
        def slots(index) = [index * SLOTS / nodes.size, ((index + 1) * SLOTS / nodes.size) - 1]

        def expect_ok(node, *words)
          answer = node.command(*words)
          raise Error, "#{node} answered #{answer.inspect} to #{words.join(" ")}" unless answer == "OK"
        end

        # Masters that were stopped and started remember each other.
        def joined? = info(nodes.first)["cluster_slots_assigned"] != "0"

        def wait_until_well
          deadline = now + JOIN_SECONDS
          until nodes.all? { |node| well?(node) }
            raise Error, "Redis Cluster at #{url}: not well within #{JOIN_SECONDS} s\n#{report}" if now > deadline
            sleep 0.02
          end
        end

        def well?(node)
          state = info(node)
          state["cluster_state"] == "ok" && state["cluster_known_nodes"] == nodes.size.to_s &&
            state["cluster_slots_ok"] == SLOTS.to_s
        end

        def info(node) = node.command("CLUSTER", "INFO").to_s.scan(/^(\w+):(\S+)/).to_h

        def report = nodes.map { |node| "#{node}: #{info(node)}" }.join("\n")

        def each_node(action)
          nodes.each(&action)
          self
        end

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
