# frozen_string_literal: true

require_relative "../../backend"
require_relative "../remote/node"
require_relative "abilities"
require_relative "connection"

module Tiercel
  module Backends
    class Redis < Backend
      # Sends commands to a single server (or to the master that the Sentinels report).
      class Single
        # @param name [String] for errors
        # @param address [Address]
        # @param timeout [Float] seconds for one call
        # @param pool [Hash] see {Remote::Options.pool}
        def initialize(name, address, timeout:, pool:)
          @address = address
          @node = Remote::Node.new(name, timeout:, pool:) { address.connection(servers: @servers) }
          @abilities = Abilities.new(self)
        end

        # @return [Abilities]
        attr_reader :abilities
        # @return [SeenServers, nil] collects the servers of the connections; must be set before the first call
        attr_accessor :servers

        # @param command [Array<String>]
        # @param key [String, nil] the key, for errors
        # @param resend [Boolean] whether the command may be sent twice
        # @return [Object] the reply
        # @raise [ReplyError]
        # @raise [BackendError]
        def call(command, key: nil, resend: true)
          reply = @node.call(key, resend: resend) { |connection, deadline| connection.call(command, deadline) }
          reply.is_a?(ReplyError) ? raise(reply) : reply
        end

        # @return [Object] the reply of any server
        def ask(command) = call(command)

        # Sends the commands in one trip.
        #
        # @param commands [Array<Array<String>>]
        # @param key [String, nil] the key, for errors
        # @return [Array<Object>] the replies, including errors
        # @raise [BackendError]
        def pipelined(commands, key: nil, resend: true)
          @node.call(key, resend: resend) { |connection, deadline| connection.call_all(commands, deadline) }
        end

        # Runs commands atomically on the server.
        #
        # @param commands [Array<Array<String>>] commands that must not be sent twice
        # @param key [String]
        # @return [Array<Object>] the replies
        # @raise [ReplyError]
        # @raise [BackendError]
        def transaction(commands, key:)
          replies = pipelined([["MULTI"], *commands, ["EXEC"]], key: key, resend: false)
          error = [*replies, *Array(replies.last)].find { |reply| reply.is_a?(ReplyError) }
          error ? raise(error) : replies.last
        end

        # @param keys [Array<String>]
        # @return [Array<String, nil>]
        def get_multi(keys) = call(["MGET", *keys])

        # @param pairs [Hash{String => String}]
        # @param ms [String] TTL
        # @return [Array<String, ReplyError>]
        def set_multi(pairs, ms) = pipelined(pairs.map { |key, bytes| ["SET", key, bytes, "PX", ms] })

        # @param keys [Array<String>]
        # @return [Array<Integer>] number of deleted keys, in parts
        def delete_multi(keys) = [call(["UNLINK", *keys])]

        # @return [void]
        def flush = call(%w[FLUSHDB ASYNC])

        # @return [Array<#call>] for each server, what sends a command to it
        def each_server = [method(:ask)]

        # @return [Array<Array(String, Integer)>] INFO and the number of keys for each server
        def infos
          replies = pipelined([["INFO"], ["DBSIZE"]])
          error = replies.find { |reply| reply.is_a?(ReplyError) }
          error ? raise(error) : [replies]
        end

        # @return [void]
        def renew
          @address.sentinels&.forget
          @abilities.forget
          @node.renew
          @servers&.forget # last, so that a caller that sees the new list also uses a connection in it
        end

        # @return [void]
        def close = @node.close
      end
    end
  end
end
