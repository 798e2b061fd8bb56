# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../clock"
require_relative "../../optional_gems"
require_relative "deadline"
require_relative "node_breaker"
require_relative "node_fibers"

module Tiercel
  module Backends
    class Redis < Backend
      # The share of a call's budget that one node of a cluster may take.
      #
      # A call may ask several nodes, whose replies are read one node after the other. While others are still to be
      # read, each gets half of what is left, so that one that hangs leaves the others enough time. Commands are sent to
      # all of them before the first reply is read ({NodeFibers}).
      module NodeShare
        VARIABLE = :tiercel_redis_commands_left
        ONCE = :tiercel_redis_sent_once
        # For a call that first has to ask for the cluster's layout: nobody knows how many commands that takes.
        UNKNOWN = Float::INFINITY
        SHARED = [VARIABLE, ONCE].freeze
        TESTED = %w[redis-client redis-cluster-client].freeze
        LOST = "a node of a cluster that hangs takes the whole time of a call that asks others too, and counters may " \
               "count twice where a connection breaks, until Tiercel is updated"
        private_constant :TESTED, :LOST

        # Tells what the call that begins on this thread has to send.
        #
        # @param commands [Integer, Float] how many, over all nodes
        # @param once [Array<String>, nil] the one that must not be sent twice
        # @return [void]
        def self.expect(commands, once = nil)
          thread = Thread.current
          thread[VARIABLE] = commands
          thread[ONCE] = once
        end

        # redis-cluster-client sends a command again whose connection broke, on another node perhaps, though the node
        # may have run it. It does not where the error is said to be of something else than the node that it asked.
        #
        # @param error [RedisClient::ConnectionError]
        # @param command [Array<String>] that was sent
        # @return [void]
        def self.not_again(error, command)
          return unless Thread.current[ONCE]&.first == command.first
          return if error.is_a?(RedisClient::HasCommand) # a reply: it was not run
          error.extend(RedisClient::Cluster::ErrorIdentification::TaggedError)
        end

        # Runs the block, which talks to one node, with that node's share of the time.
        #
        # @param commands [Integer] how many of the call's commands the block sends
        # @return [Object] the block's value
        def self.of(commands)
          thread = Thread.current
          left = thread[VARIABLE] -= commands if thread[VARIABLE]
          whole = thread[Deadline::VARIABLE]
          return yield unless whole && left&.positive?
          begin
            now = Clock.monotonic
            Deadline.set(now + ((whole - now) / 2))
            yield
          ensure
            Deadline.set(whole)
          end
        end

        # For one of {Deadline}'s drivers.
        module Driver
          def initialize(config, ...)
            NodeBreaker.watch(config)
            NodeShare.of(0) { super }
          end

          # The PING that redis-client sends on an idle connection is none of the call's commands.
          def call(command, timeout)
            NodeShare.of(command.first == "PING" ? 0 : 1) { super }
          rescue RedisClient::ConnectionError => error
            NodeShare.not_again(error, command)
            raise
          end

          # redis-cluster-client adds these methods to the connections of redis-client.
          def call_pipelined_aware_of_redirection(commands, timeouts, exception:)
            NodeShare.of(commands.size) do
              @part = true
              super
            ensure
              @part = false
            end
          end

          def write_multi(commands)
            super
            NodeFibers.written(SHARED) if @part
          end
        end

        # Has the nodes asked at the same time.
        #
        # @param client [RedisClient::Cluster] that has not asked anything yet
        # @return [RedisClient::Cluster]
        def self.at_once(client)
          return client unless tested?
          workers = client.instance_variable_get(:@concurrent_worker)
          client.instance_variable_set(:@concurrent_worker, NodeFibers::Workers.new(SHARED, workers))
          client
        end

        def self.tested? = TESTED.map { |gem| OptionalGems.tested?(gem, LOST) }.all?
        private_class_method :tested?

        # @param driver [Class] of {Deadline.driver}
        # @return [Class]
        def self.driver(driver)
          return driver unless tested?
          @drivers ||= {}
          @drivers[driver] ||= Class.new(driver) { prepend Driver }
        end
      end
    end
  end
end
