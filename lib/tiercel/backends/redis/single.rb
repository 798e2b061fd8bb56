# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../clock"
require_relative "../remote/pool"
require_relative "abilities"
require_relative "connection"
require_relative "deadline"
require_relative "set_commands"

module Tiercel
  module Backends
    class Redis < Backend
      # Sends commands to a single server (or to the master that the Sentinels report).
      class Single
        # @param config [RedisClient::Config::Common]
        # @param timeout [Float] seconds for one call
        # @param pool [Hash] see {Remote::Options.pool}
        def initialize(config, timeout:, pool:)
          @config = config
          @timeout = timeout
          @one_by_one = Deadline.known?
          @pool = Remote::Pool.new(**pool) { Connection.new(config, @servers) }
          @abilities = Abilities.new(self)
        end

        # @return [Abilities]
        attr_reader :abilities
        # @return [SeenServers, nil] collects the servers of the connections; must be set before the first call
        attr_accessor :servers

        # @param command [Array<String>]
        # @param resend [Boolean] whether the command may be sent twice
        # @return [Object] the reply
        # @raise [RedisClient::Error]
        def call(command, resend: true)
          deadline = Clock.monotonic + @timeout
          @pool.with(deadline) do |connection|
            connection.use(deadline, resend: resend) { |driver| driver.call(command, nil) }
          end
        end

        # Sends the commands in one trip.
        #
        # @param commands [Array<Array<String>>, SetCommands]
        # @return [Array<Object>] the replies, including errors
        def pipelined(commands)
          deadline = Clock.monotonic + @timeout
          @pool.with(deadline) { |connection| connection.use_pipeline(deadline, commands) }
        end

        # Runs commands atomically on the server.
        #
        # @param commands [Array<Array<String>>] commands that must not be sent twice
        # @return [Array<Object>] the replies
        # @raise [RedisClient::Error]
        def transaction(commands)
          deadline = Clock.monotonic + @timeout
          @pool.with(deadline) do |connection|
            connection.use(deadline, resend: false) do |driver|
              replies = driver.call_pipelined([["MULTI"], *commands, ["EXEC"]], nil, exception: false)
              error = [*replies, *Array(replies.last)].find { |reply| reply.is_a?(Exception) }
              error ? raise(error) : replies.last
            end
          end
        end

        # Sends two commands in one trip: see {Connection#use_either}.
        #
        # @param commands [Array<Array<String>>]
        # @return [Array(Object, Object)]
        # @raise [RedisClient::Error]
        def call_either(*commands)
          deadline = Clock.monotonic + @timeout
          @pool.with(deadline) { |connection| connection.use_either(deadline, commands) }
        end

        # @param keys [Array<String>]
        # @return [Array<String, nil>]
        def get_multi(keys) = call(["MGET", *keys])

        # @param pairs [Hash{String => String}]
        # @param ms [String] TTL
        # @return [Array<String, RedisClient::Error>]
        def set_multi(pairs, ms)
          commands = SetCommands.new(pairs, ms)
          pipelined(@one_by_one ? commands : commands.to_a)
        end

        # @param keys [Array<String>]
        # @return [Array<Integer>] number of deleted keys, in parts
        def delete_multi(keys) = [call(["UNLINK", *keys])]

        # @return [void]
        def flush = call(%w[FLUSHDB ASYNC])

        # @return [Array<Array(String, Integer)>] INFO and the number of keys for each server
        # @raise [RedisClient::Error]
        def infos
          replies = pipelined([["INFO"], ["DBSIZE"]])
          error = replies.find { |reply| reply.is_a?(Exception) }
          error ? raise(error) : [replies]
        end

        # @return [void]
        def renew
          @config.reset if @config.sentinel?
          @abilities.forget
          @pool.renew
          @servers&.forget # last, so that a caller that sees the new list also uses a connection in it
        end

        # @return [void]
        def close = @pool.close
      end
    end
  end
end
