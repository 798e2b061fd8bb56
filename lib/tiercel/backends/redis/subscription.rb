# frozen_string_literal: true

require "redis-client"
require "securerandom"

require_relative "../../backend"
require_relative "../../clock"
require_relative "../../errors"
require_relative "../../forks"
require_relative "deadline"
require_relative "failures"
require_relative "seen_servers"

module Tiercel
  module Backends
    class Redis < Backend
      # A separate connection over which one server sends the changed keys: client tracking in broadcast mode, which
      # needs RESP3. The server also sends other programs' writes and expired or evicted keys, of all its databases,
      # and does not say who changed them. adr/016 explains why it is not pub/sub.
      #
      # One thread reads from the connection; another one sends requests.
      #
      # @see Tiers::Bus
      class Subscription
        # A subscriber of a channel that does not read is disconnected once the client-output-buffer-limit for
        # "pubsub" is reached; clients that only track keys have no limit.
        LIMITED = ["SUBSCRIBE", "tiercel:bus"].freeze
        TRACKING = %w[CLIENT TRACKING ON BCAST].freeze
        INVALIDATE = "invalidate"
        ROLE = ["ROLE"].freeze
        MASTER = "master"
        REPLICA = "slave"
        PROBE = "tiercel:probe:"
        # The key of a probe needs to live only until its invalidation message.
        PROBE_MS = "100"
        # Seconds to wait for the reply of a new connection.
        CHECK_SECONDS = 1.0
        # Replies after which an early retry is pointless.
        IMPOSSIBLE = /\A(NOPERM|NOPROTO)|unknown (sub)?command|syntax error|CLIENT subcommand/i
        # Replies of a busy server. They say nothing about the messages that it has sent.
        AT_WORK = /\A(BUSY|LOADING|MASTERDOWN)\b/
        private_constant :LIMITED, :TRACKING, :INVALIDATE, :ROLE, :MASTER, :REPLICA, :PROBE, :PROBE_MS, :CHECK_SECONDS,
                         :IMPOSSIBLE, :AT_WORK

        # @return [Integer] identifies the server and the prefix of its messages
        attr_reader :server

        # @param name [String] the backend's name, for errors
        # @param prefix [String, nil] limits the messages to keys with this prefix; nil for all keys
        # @yieldparam protocol [Integer]
        # @yieldreturn [RedisClient::Config::Common] the address, resolved again through the Sentinels, with the driver
        #   in Ruby
        def initialize(name, prefix = nil, &config)
          @name = name
          @prefix = prefix
          @config = config
        end

        # @param error [Exception] one of {Failures::ERRORS}
        # @param name [String] the backend's name
        # @return [BackendError]
        def self.failure(error, name)
          message = "#{error.class}: #{error.message}"
          return Refused.new(message, backend: name) if impossible?(error)
          failure = Failures.translate(error, name, nil)
          return failure unless failure.is_a?(Refused) # may change: the server is full, or no longer the master
          Unavailable.new(message, backend: name)
        end

        def self.impossible?(error)
          error.is_a?(RedisClient::UnsupportedServer) || error.is_a?(SeenServers::Unknown) ||
            (error.is_a?(RedisClient::CommandError) && IMPOSSIBLE.match?(error.message))
        end
        private_class_method :impossible?

        # Connects and subscribes. Every later change of a key is sent.
        #
        # @return [self]
        # @raise [Refused] if this server will never allow a subscription
        # @raise [BackendError]
        def open
          guarded do
            @process = Forks.current
            @client = @config.call(3).new_client
            @driver = @client.disable_reconnection(&:itself)
            @server = SeenServers.id(@driver, @prefix)
            limit
            @driver.call([*TRACKING, *(["PREFIX", @prefix] if @prefix)], nil)
          end
          self
        end

        # Waits for the next message, without a timeout.
        #
        # @return [Array<String>, nil, Symbol] changed keys; nil for all keys; :master, the answer to {#ask}; :busy
        #   for an answer without information; :none for other messages
        # @raise [BackendError] if the connection is unusable
        def read
          kind, content = message = guarded { @driver.read(0) }
          return content if kind == INVALIDATE
          return :master if kind == MASTER
          raise Unavailable.new("a replica answers", backend: @name) if kind == REPLICA
          return :none unless message.is_a?(RedisClient::Error)
          AT_WORK.match?(message.message) ? :busy : guarded { raise message }
        end

        # Asks for the server's role. {#read} returns the answer.
        #
        # @return [void]
        # @raise [BackendError]
        def ask = guarded { @driver.write(ROLE) }

        # @return [String] a unique key
        def probe_key = "#{@prefix}#{PROBE}#{SecureRandom.hex(8)}"

        # Changes a key, so that the server sends a message. Does not wait for the message.
        #
        # @param key [String] a result of {#probe_key}
        # @return [void]
        # @raise [BackendError]
        def probe(key) = guarded { @driver.write(["SET", key, "", "PX", PROBE_MS]) }

        # @return [Boolean] whether a new connection leads to the same server
        # @raise [BackendError] if the new connection gets no reply in time
        def same_server?
          guarded do
            Deadline.set(Clock.monotonic + CHECK_SECONDS)
            client = @config.call(2).new_client
            SeenServers.id(client.disable_reconnection(&:itself), @prefix) == @server
          ensure
            client&.close
          end
        end

        # @return [String]
        def to_s = @name

        # @return [void]
        def close
          @driver.shut_down if Forks.current?(@process) && @driver.respond_to?(:shut_down)
          @client&.close
        rescue *Failures::ERRORS
          nil
        end

        private

        # If the user may not use the channel, the subscription has no limit.
        def limit
          @driver.call(LIMITED, nil)
        rescue RedisClient::CommandError
          nil
        end

        def guarded(&)
          Deadline.outside(&)
        rescue *Failures::ERRORS => error
          raise Subscription.failure(error, @name)
        end
      end
    end
  end
end
