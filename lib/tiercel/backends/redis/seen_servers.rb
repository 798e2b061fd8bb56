# frozen_string_literal: true

require "redis-client"

require_relative "../../backend"
require_relative "run_id"

module Tiercel
  module Backends
    class Redis < Backend
      # Collects the servers that a process' connections have led to since the last {#forget}.
      #
      # @private
      class SeenServers
        # @return [Array<Integer>] results of {RunId}; {#forget} replaces the Array
        attr_reader :ids
        # @return [String, nil]
        attr_accessor :prefix

        def initialize = forget

        # @return [void]
        def forget
          @ids = []
        end

        # @param driver [#call] an open connection
        # @return [Integer] 0 if the server does not report its id
        def identify(driver)
          RunId.of(driver, @prefix)
        rescue RedisClient::CommandError, RunId::Unknown
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
end
