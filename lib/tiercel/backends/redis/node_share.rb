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
      # Limits the part of a call's budget that one cluster node may use.
      #
      # A call may use several nodes, and reads their replies one after the other. While other replies are unread, each
      # node gets half of the remaining time, so that a hung node leaves time for the others. All commands are sent
      # before the first reply is read ({NodeFibers}).
      module NodeShare
        VARIABLE = :tiercel_redis_commands_left
        ONCE = :tiercel_redis_sent_once
        # For a call that must load the cluster's layout first: the number of its commands is unknown.
        UNKNOWN = Float::INFINITY
        SHARED = [VARIABLE, ONCE].freeze
        TESTED = %w[redis-client redis-cluster-client].freeze
        LOST = "a node of a cluster that hangs takes the whole time of a call that asks others too, and counters may " \
               "count twice where a connection breaks, until Tiercel is updated"
        private_constant :TESTED, :LOST

        # Declares the commands of the call that begins on this thread.
        #
        # @param commands [Integer, Float] number of commands over all nodes
        # @param once [Array<String>, nil] the command that must not be sent twice
        # @return [void]
        def self.expect(commands, once = nil)
          thread = Thread.current
          thread[VARIABLE] = commands
          thread[ONCE] = once
        end

        # redis-cluster-client resends a command whose connection broke, perhaps to another node, although the first
        # node may have run it. It does not resend if the error names a different node from the one that received the
        # command.
        #
        # @param error [RedisClient::ConnectionError]
        # @param command [Array<String>] the command that was sent
        # @return [void]
        def self.not_again(error, command)
          return unless Thread.current[ONCE]&.first == command.first
          return if error.is_a?(RedisClient::HasCommand) # an error reply: the command did not run
          error.extend(RedisClient::Cluster::ErrorIdentification::TaggedError)
        end

        # Runs the block, which talks to one node, within that node's time limit.
        #
        # @param commands [Integer] number of the call's commands that the block sends
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

        # Extends a driver of {Deadline}.
        module Driver
          def initialize(config, ...)
            NodeBreaker.watch(config)
            NodeShare.of(0) { super }
          end

          # redis-client's PING on an idle connection is not one of the call's commands.
          def call(command, timeout)
            NodeShare.of(command.first == "PING" ? 0 : 1) { super }
          rescue RedisClient::ConnectionError => error
            NodeShare.not_again(error, command)
            raise
          end

          # redis-cluster-client adds these methods to redis-client's connections.
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

        # Makes the client call its nodes concurrently.
        #
        # @param client [RedisClient::Cluster] a client before its first call
        # @return [RedisClient::Cluster]
        def self.at_once(client)
          return client unless tested?
          workers = client.instance_variable_get(:@concurrent_worker)
          client.instance_variable_set(:@concurrent_worker, NodeFibers::Workers.new(SHARED, workers))
          client
        end

        def self.tested? = TESTED.map { |gem| OptionalGems.tested?(gem, LOST) }.all?
        private_class_method :tested?

        # @param driver [Class] a result of {Deadline.driver}
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
