# frozen_string_literal: true

require "openssl"
require "socket"

require_relative "../../backend"
require_relative "../../breaker"
require_relative "../../clock"
require_relative "../../errors"
require_relative "connection"
require_relative "node_log"
require_relative "pool"

module Tiercel
  module Backends
    module Remote
      # One server: its connections, its time budget, and the translation of socket errors to {BackendError}s.
      class Node
        # The server answered and refused the command.
        class Refusal < StandardError; end

        # Errors of sockets, name resolution and TLS. A Timeout::Error comes from the caller's own Timeout.
        NETWORK_ERRORS = [IOError, SystemCallError, SocketError, OpenSSL::SSL::SSLError].freeze
        TIMEOUTS = [IO::TimeoutError, Errno::ETIMEDOUT].freeze

        # @return [String] "memcached://HOST:PORT"
        attr_reader :name

        # @param name [String] for errors and the log
        # @param timeout [Float] seconds for one call
        # @param pool [Hash] see {Options.pool}
        # @param breaker [Breaker, nil] this server's breaker, if there are several servers
        # @yieldreturn [Connection]
        def initialize(name, timeout:, pool:, breaker: nil, &connect)
          @name = name
          @timeout = timeout
          @breaker = breaker
          @log = NodeLog.of(name) if breaker
          @connect = connect
          @pool = Pool.new(**pool, &connect)
        end

        # Runs the block with a connection: see {Connection#use}.
        #
        # @param key [String, nil] the key, for errors
        # @param resend [Boolean] whether the block's request may be sent twice
        # @param deadline [Float] a time of {Clock.monotonic}
        # @param wait [Boolean] whether to wait if all connections are in use
        # @yieldparam connection [Connection]
        # @yieldparam deadline [Float]
        # @return [Object] the block's value
        # @raise [BackendError]
        def call(key, resend: true, deadline: Clock.monotonic + @timeout, wait: true, &)
          skip(key) if @breaker && !@breaker.allow?
          result = @pool.with(deadline, wait: wait) { |connection| connection.use(deadline, resend: resend, &) }
          succeeded if @breaker
          result
        rescue *NETWORK_ERRORS => error
          failed(error) if @breaker
          raise failure(error, key)
        rescue Pool::Exhausted => error
          raise PoolExhausted.new(error.message, backend: @name, key: key)
        rescue Refusal => error
          succeeded if @breaker # a refusal proves that the server is up
          raise Refused.new(error.message, backend: @name, key: key)
        end

        # @return [Connection] a connection outside the pool; the caller closes it
        def connection = @connect.call

        # @return [Float] the time of {Clock.monotonic} at which the budget of a call that begins now ends
        def deadline = Clock.monotonic + @timeout

        # @param error [StandardError] one of {NETWORK_ERRORS}
        # @param key [String, nil]
        # @return [Unavailable] the error to raise
        def failure(error, key = nil)
          type = TIMEOUTS.any? { |timeout| timeout === error } ? TimedOut : Unavailable
          type.new("#{error.class}: #{error.message}", backend: @name, key: key)
        end

        # @return [Boolean] false if the last call is known to have failed
        def answering? = !@breaker&.failing?

        # @return [void]
        def close = @pool.close

        # Replaces all connections: see {Pool#renew}.
        #
        # @return [void]
        def renew = @pool.renew

        private

        def succeeded
          @breaker.succeeded
          @log.closed if @log.open?
        end

        def failed(error)
          @breaker.failed
          @log.opened(error) if @breaker.open?
        end

        def skip(key)
          @log.skipped
          raise BreakerOpen.quick("call skipped: the server failed and is in its cool-down", backend: @name, key: key)
        end
      end
    end
  end
end
