# frozen_string_literal: true

require "digest"
require "securerandom"

module Tiercel
  class Backends::Redis < Backend
    # A separate connection over which one server sends the changed keys: client tracking in broadcast mode, which
    # needs RESP3. The messages also cover other programs' writes and expired or evicted keys, in all databases, and
    # do not name the program. adr/016 explains why it is not pub/sub.
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
      # Replies of a busy server, which prove nothing about earlier messages.
      AT_WORK = /\A(BUSY|LOADING|MASTERDOWN)\b/
      private_constant :LIMITED, :TRACKING, :INVALIDATE, :ROLE, :MASTER, :REPLICA, :PROBE, :PROBE_MS, :CHECK_SECONDS,
                       :IMPOSSIBLE, :AT_WORK

      # @return [Integer] identifies the server and the prefix of its messages
      attr_reader :server

      # @param name [String] the backend's name, for errors
      # @param prefix [String, nil] limits the messages to keys with this prefix; nil for all keys
      # @yieldparam protocol [Integer]
      # @yieldreturn [Connection] not open yet
      def initialize(name, prefix = nil, &connect)
        @name = name
        @prefix = prefix
        @connect = connect
      end

      # Connects and subscribes. Every later change of a key is sent.
      #
      # @return [self]
      # @raise [Refused] if this server will never allow a subscription
      # @raise [BackendError]
      def open
        guarded do
          @process = Forks.current
          deadline = Clock.monotonic + CHECK_SECONDS
          @connection = @connect.call(3)
          @connection.open(deadline)
          @server = SeenServers.id(@connection, deadline, @prefix)
          answer(LIMITED, deadline) # a user who may not use the channel gets a subscription without a limit
          reply = answer([*TRACKING, *(["PREFIX", @prefix] if @prefix)], deadline)
          raise reply if reply.is_a?(ReplyError)
        end
        self
      end

      # Waits for the next message, without a timeout.
      #
      # @return [Array<String>, nil, Symbol] changed keys; nil for all keys; :master, the answer to {#ask}; :busy
      #   for an answer without information; :none for other messages
      # @raise [BackendError] if the connection is unusable
      def read
        kind, content = message = guarded { @connection.read_reply(nil) }
        return content if kind == INVALIDATE
        return :master if kind == MASTER
        raise Unavailable.new("a replica answers", backend: @name) if kind == REPLICA
        return :none unless message.is_a?(ReplyError)
        AT_WORK.match?(message.message) ? :busy : guarded { raise message }
      end

      # Asks for the server's role. {#read} returns the answer.
      #
      # @return [void]
      # @raise [BackendError]
      def ask = guarded { @connection.post(ROLE) }

      # @return [String] a unique key
      def probe_key = "#{@prefix}#{PROBE}#{SecureRandom.hex(8)}"

      # Changes a key, so that the server sends a message. Does not wait for the message.
      #
      # @param key [String] a result of {#probe_key}
      # @return [void]
      # @raise [BackendError]
      def probe(key) = guarded { @connection.post(["SET", key, "", "PX", PROBE_MS]) }

      # @return [Boolean] whether a new connection leads to the same server
      # @raise [BackendError] if the new connection gets no reply in time
      def same_server?
        guarded do
          deadline = Clock.monotonic + CHECK_SECONDS
          connection = @connect.call(2)
          connection.open(deadline)
          SeenServers.id(connection, deadline, @prefix) == @server
        ensure
          connection&.close
        end
      end

      # @return [String]
      def to_s = @name

      # @return [void]
      def close
        @connection&.shut_down if Forks.current?(@process)
        @connection&.close
      end

      private

      def answer(command, deadline)
        @connection.write_all([command], deadline)
        @connection.read_reply(deadline)
      end

      def guarded
        yield
      rescue ReplyError, SeenServers::Unknown, *Backends::Remote::Node::NETWORK_ERRORS => error
        impossible = error.is_a?(SeenServers::Unknown) ||
                     (error.is_a?(ReplyError) && IMPOSSIBLE.match?(error.message))
        raise (impossible ? Refused : Unavailable).new("#{error.class}: #{error.message}", backend: @name)
      end
    end

    # Collects the servers that a process' connections have led to since the last {#forget}. A server has a number,
    # from the random run id of its process.
    #
    # @private
    class SeenServers
      INFO = %w[INFO server].freeze
      RUN_ID = /^run_id:(\w+)/
      private_constant :INFO, :RUN_ID

      # The server does not report its run id.
      class Unknown < StandardError; end

      # @return [Array<Integer>] results of {.id}; {#forget} replaces the Array
      attr_reader :ids
      # @return [String, nil]
      attr_accessor :prefix

      # @param connection [Connection] open
      # @param deadline [Float]
      # @param prefix [String, nil] the key prefix that is part of the identity
      # @return [Integer] from 1 to 2^63 - 1
      # @raise [ReplyError, Unknown]
      def self.id(connection, deadline, prefix)
        reply, = connection.call_all([INFO], deadline)
        raise reply if reply.is_a?(ReplyError)
        run_id = reply.to_s[RUN_ID, 1] or raise Unknown, "INFO server has no run_id"
        Digest::SHA256.digest("#{run_id} #{prefix}").unpack1("Q<") >> 1 | 1
      end

      def initialize = forget

      # @return [void]
      def forget
        @ids = []
      end

      # @param connection [Connection] open
      # @param deadline [Float]
      # @return [Integer] 0 if the server does not report its id
      def identify(connection, deadline)
        SeenServers.id(connection, deadline, @prefix)
      rescue ReplyError, Unknown
        0
      end

      # Call this before a request is sent.
      #
      # @param id [Integer]
      # @return [void]
      def used(id) = @ids.include?(id) || @ids.push(id)
    end
  end
end
