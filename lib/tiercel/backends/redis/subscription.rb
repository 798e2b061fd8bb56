# frozen_string_literal: true

require "redis-client"

require_relative "../../backend"
require_relative "../../errors"
require_relative "deadline"
require_relative "failures"

module Tiercel
  module Backends
    class Redis < Backend
      # A connection of its own over which one server tells of every key that changes: client tracking in broadcast
      # mode, which RESP3 alone has. It tells of other programs' writes too, of keys that end or are evicted, in all of
      # the server's databases, and does not say who has changed them. Why not pub/sub: adr/016.
      #
      # One thread reads; another may send heartbeats meanwhile.
      #
      # @see ClusterSubscription
      # @see Tiers::Bus
      class Subscription
        # A subscriber that does not read is cut off by the server when so many bytes wait for it that its
        # client-output-buffer-limit for "pubsub" is reached; clients that are told of keys alone have no limit.
        LIMITED = ["SUBSCRIBE", "tiercel:bus"].freeze
        TRACKING = %w[CLIENT TRACKING ON BCAST].freeze
        INVALIDATE = "invalidate"
        # A heartbeat's key has to be there for no longer than it takes to be told of it.
        HEARTBEAT_MS = "100"
        # Answers after which it is no use to try again soon.
        IMPOSSIBLE = /\A(NOPERM|NOPROTO)|unknown (sub)?command|syntax error|CLIENT subcommand/i
        private_constant :LIMITED, :TRACKING, :INVALIDATE, :HEARTBEAT_MS, :IMPOSSIBLE

        # @param config [RedisClient::Config::Common] for RESP3 and the driver in Ruby
        # @param name [String] of the backend, for errors
        def initialize(config, name)
          @client = config.new_client
          @name = name
        end

        # @param error [Exception] one of {Failures::ERRORS}
        # @param name [String] of the backend
        # @return [BackendError]
        def self.failure(error, name)
          message = "#{error.class}: #{error.message}"
          return Refused.new(message, backend: name) if impossible?(error)
          failure = Failures.translate(error, name, nil)
          return failure unless failure.is_a?(Refused) # full, or not the master any more: that may change
          Unavailable.new(message, backend: name)
        end

        def self.impossible?(error)
          error.is_a?(RedisClient::UnsupportedServer) ||
            (error.is_a?(RedisClient::CommandError) && IMPOSSIBLE.match?(error.message))
        end
        private_class_method :impossible?

        # @return [Array<Subscription>] each to be read by a thread of its own
        def streams = [self]

        # @return [false] a heartbeat counts once it was told of, whoever has sent it
        def confirms? = false

        # @return [void]
        def confirm(_pause) = nil

        # Connects and subscribes. Every key that changes after it has returned is told of.
        #
        # @return [self]
        # @raise [Refused] if this server will not do so, however often it is asked
        # @raise [BackendError]
        def open
          guarded do
            @driver = @client.disable_reconnection(&:itself)
            limit
            @driver.call(TRACKING, nil)
          end
          self
        end

        # Waits for what the server has to tell.
        #
        # @param timeout [Float] seconds
        # @return [Array<String>, nil, false] keys that have changed; nil for all of them; false for something else
        # @raise [BackendError] if the connection is of no use any more, or nothing came in time
        def read(timeout)
          message = guarded { @driver.read(timeout) }
          return refused(message) if message.is_a?(RedisClient::Error)
          message.is_a?(Array) && message.first == INVALIDATE ? told(message[1]) : answered(message)
        end

        # Changes a key, of which the server then tells. Does not wait for that.
        #
        # @param key [String]
        # @return [void]
        # @raise [BackendError]
        def beat(key)
          guarded { @driver.write(["SET", key, "", "PX", HEARTBEAT_MS]) }
        end

        # @return [void]
        def close
          @client.close
        rescue *Failures::ERRORS
          nil
        end

        private

        # A user who may not use the channel goes without the limit.
        def limit
          @driver.call(LIMITED, nil)
        rescue RedisClient::CommandError
          nil
        end

        def told(keys) = keys
        def answered(_reply) = false
        def refused(error) = guarded { raise error }

        def guarded(&)
          Deadline.outside(&)
        rescue *Failures::ERRORS => error
          raise Subscription.failure(error, @name)
        end
      end
    end
  end
end
