# frozen_string_literal: true

require "redis-cluster-client"

require_relative "../../backend"
require_relative "../../errors"
require_relative "echoes"
require_relative "failures"
require_relative "layout"
require_relative "node_subscription"

module Tiercel
  module Backends
    class Redis < Backend
      # A connection to each master of a cluster over which it tells of every key that changes there: what a
      # {Subscription} is of one server.
      #
      # Which nodes are masters may change at any time, and a new one takes writes that nobody here is told of. So a
      # heartbeat counts once every master has told of it, and every one of them, asked later, knows of no other master
      # than these. A master without slots is one too: keys of slots that are on their way to it are written there.
      # That the asking is a moment later gives the masters time to hear of a new one: adr/016.
      class ClusterSubscription
        # A heartbeat that is not confirmed within so many seconds is given up, and with it all connections. It takes
        # some where every thread of this process computes.
        LATE_SECONDS = 10.0
        UNKNOWN = [nil, "", "?"].freeze
        private_constant :LATE_SECONDS, :UNKNOWN

        # @return [Array<NodeSubscription>] each to be read by a thread of its own
        attr_reader :streams

        # @param config [RedisClient::ClusterConfig] for RESP3 and the driver in Ruby
        # @param name [String] of the backend, for errors
        # @param known [Hash{String => String}] id and place ("HOST:PORT") of the masters that were found last
        def initialize(config, name, known = {})
          @config = config
          @name = name
          @known = known
          @streams = []
        end

        # Finds the masters, connects and subscribes. Every key that changes after it has returned is told of.
        #
        # @return [self]
        # @raise [Refused] if this cluster will not do so, however often it is asked
        # @raise [BackendError]
        def open
          masters = Deadline.outside { find }
          @known.replace(masters)
          @streams = masters.map { |id, place| NodeSubscription.new(node(place), @name, id, self) }
          @echoes = Echoes.new(@streams)
          @streams.each(&:open)
          self
        end

        # @return [true] a heartbeat helps the one who sent it
        def confirms? = true

        # Changes a key on each master, of which each then tells. Does not wait for that.
        #
        # @param key [String]
        # @return [void]
        # @raise [BackendError]
        def beat(key)
          @echoes.sent(key)
          @streams.each { |node| node.beat(key) }
        end

        # To be called again and again: asks all masters who they are, once they all have told of a heartbeat. With the
        # last answer `read` gives that heartbeat's key.
        #
        # @param pause [Numeric] seconds that have to pass in between
        # @return [void]
        # @raise [BackendError]
        def confirm(pause)
          raise TimedOut.new("a master does not answer", backend: @name) if @echoes.overdue?(LATE_SECONDS)
          @streams.each(&:ask) if @echoes.ask?(pause)
        end

        # @return [void]
        def close = @streams.each(&:close)

        # @param node [NodeSubscription] that has told of this key
        # @param key [String]
        # @return [void]
        def heard(node, key) = @echoes.heard(node, key)

        # @param node [NodeSubscription] that knows of no other master
        # @return [String, nil] the heartbeat that is confirmed by that
        def answered(node) = @echoes.answered(node)

        # @param layout [Layout]
        # @return [void]
        # @raise [Unavailable] if there is a master that nobody listens to
        def check(layout)
          others = layout.masters.map(&:id) - @streams.map(&:id)
          return if others.empty?
          raise Unavailable.new("the cluster has another master now: #{others.join(", ")}", backend: @name)
        end

        private

        def node(place) = RedisClient.config(**@config.client_config_for_node(place))

        # @return [Hash{String => String}] id and place of each master
        # @raise [BackendError] if no node says so, of the masters found last and of the URL's
        def find
          failure = nil
          # In any order: one that is cut off from the others says what held before.
          [*@known.values, *@config.startup_nodes.keys].uniq.shuffle.each do |place|
            return masters(place)
          rescue BackendError => error
            failure ||= error
          end
          raise failure
        end

        def masters(place)
          config = node(place)
          client = config.new_client
          layout = Layout.new(client.call("CLUSTER", "NODES"))
          raise Unavailable.new("not every slot has a master", backend: @name) unless layout.complete?
          places = places(client.call("CLUSTER", "SHARDS"), config)
          layout.masters.to_h { |master| [master.id, places.fetch(master.id)] }
        rescue *Failures::ERRORS, KeyError => error
          raise Subscription.failure(error, @name)
        ensure
          client&.close
        end

        # @param shards [Array<Hash>] the reply to CLUSTER SHARDS, which says under which name a node is to be reached
        # @param config [RedisClient::Config] of the node that was asked
        # @return [Hash{String => String}]
        def places(shards, config)
          shards.flat_map { |shard| shard["nodes"] }.to_h do |node|
            host = node.values_at("endpoint", "hostname", "ip").find { |name| !UNKNOWN.include?(name) } || config.host
            ports = node.values_at("port", "tls-port")
            ports.reverse! if config.ssl
            [node["id"], "#{host}:#{ports.compact.first}"]
          end
        end
      end
    end
  end
end
