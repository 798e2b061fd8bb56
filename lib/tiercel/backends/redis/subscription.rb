# frozen_string_literal: true

require "redis-client"
require "securerandom"

require_relative "../../backend"
require_relative "../../clock"
require_relative "../../errors"
require_relative "../../forks"
require_relative "deadline"
require_relative "failures"
require_relative "run_id"

module Tiercel
  module Backends
    class Redis < Backend
      # A connection of its own over which one server sends the keys that change: client tracking in broadcast mode,
      # which RESP3 alone has. The server sends other programs' writes too, and keys that expire or are evicted, in all
      # of its databases, and does not say who has changed them. Why not pub/sub: adr/016.
      #
      # One thread reads; another one asks.
      #
      # @see Tiers::Bus
      class Subscription
        # The server cuts off a subscriber that does not read once so many bytes wait for it that its
        # client-output-buffer-limit for "pubsub" is reached; clients that only track keys have no limit.
        LIMITED = ["SUBSCRIBE", "tiercel:bus"].freeze
        TRACKING = %w[CLIENT TRACKING ON BCAST].freeze
        INVALIDATE = "invalidate"
        ROLE = ["ROLE"].freeze
        MASTER = "master"
        REPLICA = "slave"
        PROBE = "tiercel:probe:"
        # The key of a probe has to live for no longer than its invalidation takes.
        PROBE_MS = "100"
        # For the answer of a new connection.
        CHECK_SECONDS = 1.0
        # Answers after which it is no use to try again soon.
        IMPOSSIBLE = /\A(NOPERM|NOPROTO)|unknown (sub)?command|syntax error|CLIENT subcommand/i
        # Answers of a server that is at work on something else. They say nothing about what it has sent.
        AT_WORK = /\A(BUSY|LOADING|MASTERDOWN)\b/
        private_constant :LIMITED, :TRACKING, :INVALIDATE, :ROLE, :MASTER, :REPLICA, :PROBE, :PROBE_MS, :CHECK_SECONDS,
                         :IMPOSSIBLE, :AT_WORK

        # @return [Integer] which server it is, and which keys it sends
        attr_reader :server

        # @param name [String] of the backend, for errors
        # @param prefix [String, nil] of the keys that the server is to send; nil for all
        # @yieldparam protocol [Integer]
        # @yieldreturn [RedisClient::Config::Common] where to connect, asked anew of the Sentinels; with the driver in
        #   Ruby
        def initialize(name, prefix = nil, &config)
          @name = name
          @prefix = prefix
          @config = config
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
          error.is_a?(RedisClient::UnsupportedServer) || error.is_a?(RunId::Unknown) ||
            (error.is_a?(RedisClient::CommandError) && IMPOSSIBLE.match?(error.message))
        end
        private_class_method :impossible?

        # Connects and subscribes. Every key that changes after it has returned is sent.
        #
        # @return [self]
        # @raise [Refused] if this server will not do so, however often it is asked
        # @raise [BackendError]
        def open
          guarded do
            @process = Forks.current
            @client = @config.call(3).new_client
            @driver = @client.disable_reconnection(&:itself)
            @server = RunId.of(@driver, @prefix)
            limit
            @driver.call([*TRACKING, *(["PREFIX", @prefix] if @prefix)], nil)
          end
          self
        end

        # Waits for what the server sends, however long.
        #
        # @return [Array<String>, nil, Symbol] keys that have changed; nil for all of them; :master, the answer to
        #   {#ask}; :busy for an answer that says nothing; :none for something else
        # @raise [BackendError] if the connection is of no use any more
        def read
          kind, content = message = guarded { @driver.read(0) }
          return content if kind == INVALIDATE
          return :master if kind == MASTER
          raise Unavailable.new("a replica answers", backend: @name) if kind == REPLICA
          return :none unless message.is_a?(RedisClient::Error)
          AT_WORK.match?(message.message) ? :busy : guarded { raise message }
        end

        # Asks for the server's role. {#read} gives the answer.
        #
        # @return [void]
        # @raise [BackendError]
        def ask = guarded { @driver.write(ROLE) }

        # @return [String] that nobody else has
        def probe_key = "#{@prefix}#{PROBE}#{SecureRandom.hex(8)}"

        # Changes a key, which the server then sends. Does not wait for that.
        #
        # @param key [String] of {#probe_key}
        # @return [void]
        # @raise [BackendError]
        def probe(key) = guarded { @driver.write(["SET", key, "", "PX", PROBE_MS]) }

        # @return [Boolean] whether a new connection leads to the same server
        # @raise [BackendError] if it has no answer in time
        def same_server?
          guarded do
            Deadline.set(Clock.monotonic + CHECK_SECONDS)
            client = @config.call(2).new_client
            RunId.of(client.disable_reconnection(&:itself), @prefix) == @server
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

        # A user who may not use the channel goes without the limit.
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
