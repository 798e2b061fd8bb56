# frozen_string_literal: true

require "redis-client"

require_relative "../remote/node_log"

module Tiercel
  module Backends
    class Redis < Backend
      # Logs when redis-client's breaker of a cluster node opens and closes.
      module NodeBreaker
        # @param config [RedisClient::Config] the config of a node's connections
        # @return [void]
        def self.watch(config)
          breaker = config.circuit_breaker
          return if breaker.nil? || NodeBreaker === breaker
          breaker.extend(NodeBreaker)
          breaker.log = Remote::NodeLog.of("redis://#{config.host}:#{config.port}")
        end

        # @return [GuardLog]
        attr_writer :log

        # See RedisClient::CircuitBreaker#protect.
        def protect
          result = super
          @log.closed if @log.open? && @state == :closed
          result
        rescue RedisClient::CircuitBreaker::OpenCircuitError
          @log.skipped
          raise
        rescue RedisClient::ConnectionError => error
          @log.opened(error) if @state == :open
          raise
        end
      end
    end
  end
end
