# frozen_string_literal: true

require "redis-client"

require_relative "../../backend"
require_relative "../../clock"
require_relative "deadline"
require_relative "failures"

module Tiercel
  module Backends
    class Redis < Backend
      # One RedisClient in the {Remote::Pool}. It connects on first use, and is busy from the first byte of a request
      # to the last byte of its reply.
      #
      # Commands are Arrays of Strings and go directly to the driver. redis-client's own work around each call
      # (command builder, middlewares, fork and idle checks) costs 2 us, and the pool and this class already do it.
      class Connection
        # After this idle time, a PING precedes a call that must not be sent twice.
        IDLE_SECONDS = 1.0
        PING = ["PING"].freeze
        # Seconds to wait for the second reply after the first one has arrived. No caller needs the second reply.
        SOON = 0.005
        DONE = "OK"
        # A newer connection to a replica stays open: the address may name a replica for good.
        RECONNECT_SECONDS = 1.0

        # @param config [RedisClient::Config::Common]
        # @param servers [SeenServers, nil] receives the server that the connection leads to
        def initialize(config, servers = nil)
          @config = config
          @servers = servers
          @client = config.new_client
          @driver = nil
          @busy = false
          @used_at = 0.0
        end

        # @return [Boolean] whether no reply is outstanding
        def clean? = !@busy

        # @return [void]
        def close
          @driver = nil
          @client.close
        rescue RedisClient::Error, SystemCallError, IOError
          nil
        ensure
          @busy = false
        end

        # Runs the block with the driver's connection.
        #
        # A server that restarts or closes idle connections leaves dead ones in the pool. If the connection turns out
        # to be dead, the call is retried once on a new one, if `resend` allows it.
        #
        # @param deadline [Float] a time of {Clock.monotonic}
        # @param resend [Boolean] whether the request may be sent twice
        # @yieldparam driver [#call, #call_pipelined]
        # @return [Object] the block's value
        def use(deadline, resend:, &)
          Deadline.set(deadline)
          close if @busy # a reply is still outstanding
          fresh = @driver.nil?
          check unless fresh || resend
          @used_at = Clock.monotonic
          exchange(&)
        rescue RedisClient::ConnectionError => error
          leave
          raise if fresh || !resend || !Failures.cut?(error)
          exchange(&)
        end

        # Sends the commands in one trip.
        #
        # @param deadline [Float] a time of {Clock.monotonic}
        # @param commands [Array<Array<String>>, SetCommands] commands that may be sent twice
        # @return [Array<Object>] the replies, including errors
        def use_pipeline(deadline, commands)
          use(deadline, resend: true) do |driver|
            replies = driver.call_pipelined(commands, nil, exception: false)
            leave_replica(replies.first)
            replies
          end
        end

        # Sends two commands; the second one matters only if the first reply is nil. Otherwise this method returns the
        # first reply, even if the server refuses or delays the second command. If the server does run the second
        # command, the entry of the first reply is gone: it expired or was evicted between the two.
        #
        # @param deadline [Float] a time of {Clock.monotonic}
        # @param commands [Array<Array<String>>] commands that may be sent twice
        # @return [Array(Object, Object)] the first reply, or nil and the second reply; either may be an error
        def use_either(deadline, commands)
          use(deadline, resend: true) do |driver|
            driver.write_multi(commands)
            first = driver.read
            next [nil, leave_replica(driver.read)] if first.nil?
            second = forgo(driver)
            next [nil, first] if first.is_a?(RedisClient::Error)
            second == DONE ? [nil, second] : [first, nil]
          end
        end

        private

        # Closes the connection after the server has failed, or does not do the work of a master. The next call connects
        # to the server that the address, or a Sentinel, names by then.
        def leave
          close
          @config.reset if @config.sentinel?
        end

        # A driver raises the refusal of a replica, except among the replies to several commands.
        #
        # @return [Object] the reply
        def leave_replica(reply)
          if reply.is_a?(RedisClient::ConnectionError) && Clock.monotonic - @connected_at >= RECONNECT_SECONDS
            leave
          end
          reply
        end

        # If the reply has not arrived by then, the connection is closed.
        #
        # @return [Object, nil] the reply
        def forgo(driver)
          driver.read(SOON)
        rescue RedisClient::ConnectionError, RedisClient::ProtocolError
          close
          nil
        end

        def exchange
          @busy = true
          driver = @driver || connect
          @servers&.used(@server)
          reply = yield(driver)
          @busy = false
          reply
        rescue RedisClient::CommandError => error
          @busy = Failures.closing?(error)
          raise
        end

        # redis-client connects: address, TLS, AUTH, SELECT, and with Sentinels the role check.
        def connect
          driver = @client.disable_reconnection(&:itself)
          @server = @servers&.identify(driver)
          @connected_at = Clock.monotonic
          @driver = driver
        end

        def check
          return if Clock.monotonic - @used_at < IDLE_SECONDS
          begin
            exchange { |driver| driver.call(PING, nil) }
          rescue RedisClient::ConnectionError => error
            close
            raise unless Failures.cut?(error)
          end
        end
      end
    end
  end
end
