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
      # Commands are Arrays of Strings that go to the driver as they are: the
      # command builder and the middlewares of redis-client cost 1 us a call.
      class Connection
        # After this time without a call, one that must not be made twice is preceded by a PING.
        IDLE_SECONDS = 1.0
        PING = ["PING"].freeze

        # @param config [RedisClient::Config::Common]
        def initialize(config)
          @config = config
          @client = config.new_client
          @busy = false
          @used_at = 0.0
        end

        # @return [Boolean] whether no reply is outstanding
        def clean? = !@busy

        # @return [void]
        def close
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
          fresh = !@client.connected?
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

        private

        def exchange(&)
          @busy = true
          reply = @client.disable_reconnection(&)
          @busy = false
          reply
        rescue RedisClient::CommandError => error
          @busy = Failures.closing?(error)
          raise
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
