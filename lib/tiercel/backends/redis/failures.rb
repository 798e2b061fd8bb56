# frozen_string_literal: true

require "connection_pool"
require "openssl"
require "redis-client"
require "socket"

require_relative "../../backend"
require_relative "../../errors"
require_relative "../remote/pool"
require_relative "deadline"

module Tiercel
  module Backends
    class Redis < Backend
      # Translates errors of redis-client and redis-cluster-client to {BackendError}s.
      module Failures
        # All errors that their calls raise, except programming errors. (redis-cluster-client keeps its nodes'
        # connections in connection_pool, and redis-client depends on it.)
        ERRORS = [RedisClient::Error, SystemCallError, IOError, SocketError, OpenSSL::SSL::SSLError,
                  ConnectionPool::TimeoutError, Remote::Pool::Exhausted].freeze

        # Error codes that concern the whole server, so that a retry would only cost time.
        NOT_SERVING = %w[LOADING BUSY CLUSTERDOWN MASTERDOWN TRYAGAIN ASK MOVED NOAUTH WRONGPASS UNBLOCKED].freeze
        MAX_CLIENTS = "max number of clients"
        # Replies to a new connection's first commands: a password that the server does not expect, a missing
        # database.
        NO_WAY_IN = /\AERR (AUTH |DB index)/
        # The reply to a user who may access other keys, but not this one.
        FORBIDDEN = /\ANOPERM .*access (one of the keys|a key)/
        NOT_A_NUMBER = /not an integer or out of range|would overflow/

        module_function

        # @param error [Exception] one of {ERRORS}
        # @param backend [#to_s]
        # @param key [String, nil]
        # @return [BackendError]
        def translate(error, backend, key)
          first = first_of(error)
          message = first.equal?(error) ? "#{error.class}: #{error.message}" : error.message
          failure = type_of(first).new(message, backend: backend, key: key)
          failure.forbidden = FORBIDDEN.match?(first.message) if failure.is_a?(Refused)
          failure
        end

        # @param error [Exception]
        # @return [Boolean] whether the server closes the connection after this reply
        def closing?(error) = error.message.include?(MAX_CLIENTS)

        # @param error [Exception]
        # @return [Boolean] whether INCRBY found bytes that are not a number
        def not_a_number?(error) = error.is_a?(RedisClient::CommandError) && NOT_A_NUMBER.match?(error.message)

        # Whether a working connection was cut, for example because the server restarted.
        #
        # @param error [Exception]
        # @return [Boolean]
        def cut?(error)
          case error
          when RedisClient::TimeoutError, RedisClient::CannotConnectError, RedisClient::ReadOnlyError,
               RedisClient::MasterDownError then false
          else error.is_a?(RedisClient::ConnectionError)
          end
        end

        # Selects one error of an operation on several nodes. The error of a node that received no command has the
        # lowest priority.
        def first_of(error)
          return error unless error.respond_to?(:errors) && error.errors.is_a?(Hash)
          all = error.errors.values
          all.find { |one| !one.is_a?(RedisClient::CircuitBreaker::OpenCircuitError) } || all.first || error
        end

        def type_of(error)
          case error
          when Remote::Pool::Exhausted, RedisClient::CheckoutTimeoutError, ConnectionPool::TimeoutError
            PoolExhausted
          when RedisClient::TimeoutError, Errno::ETIMEDOUT, Deadline::Spent, Deadline::HandshakeTimeout
            TimedOut
          when RedisClient::CircuitBreaker::OpenCircuitError then BreakerOpen # a subclass of CannotConnectError
          when RedisClient::CannotConnectError then error.cause.is_a?(Errno::ETIMEDOUT) ? TimedOut : Unavailable
          when RedisClient::ReadOnlyError then Refused
          when RedisClient::CommandError then serving?(error) ? Refused : Unavailable
          else nobody_to_ask?(error) ? Refused : Unavailable
          end
        end

        # Whether no node of the cluster has the slot at present. Such a failure costs no trip, and other slots may
        # work.
        def nobody_to_ask?(error)
          defined?(RedisClient::Cluster::NodeMightBeDown) && error.is_a?(RedisClient::Cluster::NodeMightBeDown)
        end

        def serving?(error)
          !NOT_SERVING.include?(error.code || error.message[/\A\S+/]) && !closing?(error) &&
            !NO_WAY_IN.match?(error.message)
        end
      end
    end
  end
end
