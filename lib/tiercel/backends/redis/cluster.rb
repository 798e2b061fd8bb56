# frozen_string_literal: true

require "redis-cluster-client"

require_relative "../../backend"
require_relative "../../clock"
require_relative "../../forks"
require_relative "../../one_line"
require_relative "abilities"
require_relative "deadline"
require_relative "node_share"
require_relative "set_commands"

module Tiercel
  module Backends
    class Redis < Backend
      # Sends commands to a Redis Cluster: each command to the node of its key's slot, operations on many keys as one
      # pipeline per node. No command contains keys of two slots.
      class Cluster
        # connection_pool requires a number.
        UNLIMITED = 1_000
        # Before its first command a process loads the cluster's layout and its nodes' commands. That takes a dozen
        # trips, which can exceed the budget of one call.
        SETUP_SECONDS = 1.0

        # Some nodes did not answer. This error replaces their missing replies.
        class Unanswered < RedisClient::Error
          # @return [Hash{String => Exception}] errors by node
          attr_reader :errors

          # @param errors [Hash{String => Exception}] errors by node
          # @param unanswered [Integer] number of commands without a reply
          # @param all [Integer] number of all commands
          def initialize(errors, unanswered, all)
            @errors = errors
            nodes = errors.map { |node, error| "#{node} (#{error.class}: #{OneLine.of(error.message)})" }
            super("#{unanswered} of #{all} keys have no answer: #{nodes.join(", ")}")
          end
        end

        # Replaces a missing reply.
        NONE = Object.new.freeze
        # The node name for slots without a node.
        NO_NODE = "no node"
        private_constant :NONE, :NO_NODE

        # @param config [RedisClient::ClusterConfig]
        # @param timeout [Float] seconds for one call
        # @param pool [Hash] the pool of each node, see {Remote::Options.pool}
        def initialize(config, timeout:, pool:)
          @config = config
          @timeout = timeout
          @pool = { size: pool[:size] || UNLIMITED, timeout: [pool[:timeout], timeout].min }
          @lock = Mutex.new
          @abilities = Abilities.new(self)
        end

        # @return [Abilities] the abilities of one node; all nodes are assumed to be alike
        attr_reader :abilities

        # @param command [Array<String>]
        # @param resend [Boolean] whether the command may be sent twice
        # @return [Object] the reply
        # @raise [RedisClient::Error]
        def call(command, resend: true)
          return within_budget { |client| client.call_v(command) } if resend
          within_budget(1, once: command) { |client| client.call_once_v(command) }
        end

        # Sends the commands with one trip to each node. If some nodes do not answer, the other nodes' replies are
        # kept.
        #
        # @param commands [Array<Array<String>>]
        # @return [Array<Object>] the replies, including errors
        # @raise [RedisClient::Error] if no node answered
        def pipelined(commands)
          replies = Array.new(commands.size, NONE)
          lost = nil
          answers = within_budget(commands.size) do |client|
            client.pipelined(exception: false) { |pipeline| lost = add(pipeline, commands, replies) }
          end
          lost ? partly(replies, lost, { NO_NODE => lost }) : answers
        rescue RedisClient::Cluster::ErrorCollection => error
          partly(replies, error, error.errors)
        end

        # Runs commands atomically on one node.
        #
        # @param commands [Array<Array<String>>] commands for one key that must not be sent twice
        # @return [Array<Object>] the replies
        # @raise [RedisClient::Error]
        def transaction(commands)
          within_budget do |client|
            client.multi { |transaction| commands.each { |command| transaction.call_once_v(command) } }
          end
        end

        # @param keys [Array<String>]
        # @return [Array<String, nil, RedisClient::CommandError>]
        def get_multi(keys) = pipelined(keys.map { |key| ["GET", key] })

        # @param pairs [Hash{String => String}]
        # @param ms [String] TTL
        # @return [Array<String, RedisClient::Error>]
        def set_multi(pairs, ms) = pipelined(SetCommands.new(pairs, ms).to_a)

        # @param keys [Array<String>]
        # @return [Array<Integer, RedisClient::Error>] number of deleted keys, in parts
        def delete_multi(keys) = pipelined(keys.map { |key| ["UNLINK", key] })

        # @return [void]
        def flush = call(%w[FLUSHDB ASYNC])

        # @return [Array<Array(String, Integer)>] INFO and the number of keys for each master
        def infos
          lines = call(%w[CLUSTER NODES]).lines.grep(/\bmaster\b/)
          lines.map { |line| line.split[1][/\A[^@]+/] }.map do |place|
            node = RedisClient.config(**@config.client_config_for_node(place)).new_client
            node.pipelined { |pipeline| [%w[INFO], %w[DBSIZE]].each { |command| pipeline.call_v(command) } }
          ensure
            node&.close
          end
        end

        # Makes the next call load the layout again. Calls in progress finish over their existing connections; Ruby
        # closes those when it collects them.
        #
        # @return [void]
        def renew
          @abilities.forget
          @lock.synchronize { @client = nil }
        end

        # @return [void]
        def close
          @lock.synchronize do
            @client&.close if Forks.current?(@process)
            @client = nil
          end
        end

        private

        # If a failed master has no replica, the layout has no node for its slots, and commands for their keys are not
        # sent.
        #
        # @return [RedisClient::Error, nil] the error for these commands
        def add(pipeline, commands, replies)
          lost = nil
          commands.each_with_index do |command, index|
            pipeline.call_v(command) { |reply| replies[index] = reply }
          rescue RedisClient::Cluster::NodeMightBeDown => error
            lost = error
          end
          lost
        end

        def partly(replies, error, errors)
          unanswered = replies.count { |reply| NONE.equal?(reply) }
          raise error if unanswered == replies.size
          stand_in = Unanswered.new(errors, unanswered, replies.size)
          replies.map { |reply| NONE.equal?(reply) ? stand_in : reply }
        end

        def within_budget(commands = 1, once: nil)
          client = self.client
          NodeShare.expect(@ready ? commands : NodeShare::UNKNOWN, once)
          Deadline.set(Clock.monotonic + (@ready ? @timeout : [@timeout, SETUP_SECONDS].max))
          result = yield client
          ready(client)
          result
        rescue RedisClient::Error => error
          # After any other error the layout is known.
          ready(client) unless error.is_a?(RedisClient::Cluster::InitialSetupError)
          raise
        ensure
          NodeFibers.close_all
        end

        # Another thread may have renewed the client concurrently.
        def ready(client)
          @ready = true if client&.equal?(@client)
        end

        # A forked child creates its own client and leaves its parent's alone.
        def client
          return @client if @client && Forks.current?(@process)
          @lock.synchronize do
            @client = nil unless Forks.current?(@process)
            @ready = false unless @client
            @process = Forks.current
            @client ||= NodeShare.at_once(@config.new_pool(**@pool))
          end
        end
      end
    end
  end
end
