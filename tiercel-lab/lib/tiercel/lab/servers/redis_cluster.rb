# frozen_string_literal: true

require_relative "group"
require_relative "redis"

module Tiercel
  module Lab
    module Servers
      # A Redis Cluster of masters without replicas. The masters share the 16,384 slots equally.
      class RedisCluster < Group
        # From the Redis Cluster specification.
        SLOTS = 16_384
        JOIN_SECONDS = 30

        # One master: a Redis in cluster mode, with a port for the cluster's bus.
        class Node < Redis
          # @return [Integer] port of the cluster's bus
          attr_reader :bus_port

          # @param node_timeout_ms [Integer] silence after which the other nodes mark the node as failed
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

        # @param count [Integer] number of masters, at least 3 (Redis' minimum)
        # @param options see {Node#initialize}; no socket
        def initialize(count: 3, **options)
          raise ArgumentError, "count #{count.inspect}: a Redis Cluster has at least 3 masters" if count < 3
          raise ArgumentError, "socket: a Redis Cluster has TCP ports only" if options[:socket]
          super()
          @nodes = Array.new(count) { Node.new(**options) }
        end

        # @return [String] "redis+cluster://HOST:PORT,HOST:PORT,..."
        def url = "redis+cluster://#{nodes.map { |node| "#{Server::HOST}:#{node.port}" }.join(",")}"

        private

        # Waits until the masters have their slots and every master reports a healthy cluster. After a restart the
        # masters know their slots and each other.
        def wait_until_ready
          join unless joined?
          wait_until_well
        end

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

        def joined? = info(nodes.first)["cluster_slots_assigned"] != "0"

        def wait_until_well
          deadline = now + JOIN_SECONDS
          until nodes.all? { |node| well?(node) }
            raise Error, "Redis Cluster at #{url}: not healthy within #{JOIN_SECONDS} s\n#{report}" if now > deadline
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

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
