# frozen_string_literal: true

require "redis-client"

require_relative "../../backend"
require_relative "../../clock"
require_relative "deadline"
require_relative "failures"

module Tiercel
  module Backends
    class Redis < Backend
      # One RedisClient in the {Remote::Pool}: connects when it is used, and is
      # busy from the first byte of a request to the last one of its reply.
      #
      # Commands are Arrays of Strings that go to the driver as they are: what
      # redis-client does around each call (command builder, middlewares, fork
      # and idle checks) costs 2 us, and the pool and this class do it already.
      class Connection
        # After this time without a call, one that must not be made twice is preceded by a PING.
        IDLE_SECONDS = 1.0
        PING = ["PING"].freeze
        # Seconds for which a reply that nobody needs may come after the one that was asked for.
        SOON = 0.005
        DONE = "OK"

        # @param config [RedisClient::Config::Common]
        # @param servers [SeenServers, nil] gets to know where it leads, if anybody wants to know
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
        # A server that restarted, or closes idle connections, has left dead ones in the pool. Where that
        # shows, the call is repeated once on a new connection, if it may be.
        #
        # @param deadline [Float] of {Clock.monotonic}
        # @param resend [Boolean] whether the request may be sent twice
        # @yieldparam driver [#call, #call_pipelined]
        # @return [Object] the block's value
        def use(deadline, resend:, &)
          Deadline.set(deadline)
          close if @busy # it still owes a reply to somebody
          fresh = @driver.nil?
          check unless fresh || resend
          exchange(&)
        rescue RedisClient::ConnectionError => error
          close
          @config.reset if @config.sentinel?
          raise if fresh || !resend || !Failures.cut?(error)
          exchange(&)
        ensure
          @used_at = deadline
        end

        # Sends two commands, of which the second is for where the first one's reply is nil. Where it is not, that reply
        # is given whatever the server makes of the second: it may refuse it, or hold it back. But where the server does
        # the second one, what the first one has seen is gone: it has ended or was evicted between the two.
        #
        # @param deadline [Float] of {Clock.monotonic}
        # @param commands [Array<Array<String>>] that may be sent twice
        # @return [Array(Object, Object)] the first reply, or nil and the second, which may be an error; of the first
        #   command too
        def use_either(deadline, commands)
          use(deadline, resend: true) do |driver|
            driver.write_multi(commands)
            first = driver.read
            next [nil, driver.read] if first.nil?
            second = forgo(driver)
            next [nil, first] if first.is_a?(RedisClient::Error)
            second == DONE ? [nil, second] : [first, nil]
          end
        end

        private

        # A reply that has not come by then is given up, with the connection.
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

        # redis-client opens it: address, TLS, AUTH, SELECT, and with Sentinels the role.
        def connect
          driver = @client.disable_reconnection(&:itself)
          @server = @servers&.identify(driver)
          @driver = driver
        end

        # A deadline is a budget later than the call's begin, which is near enough here.
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
