# frozen_string_literal: true

require "redis-client"

require_relative "../../backend"
require_relative "run_id"

module Tiercel
  module Backends
    class Redis < Backend
      # Which servers the connections of a process led to since it was asked to begin anew.
      #
      # @private
      class SeenServers
        # @return [Array<Integer>] of {RunId}; another Array after {#forget}
        attr_reader :ids
        # @return [String, nil]
        attr_accessor :prefix

        def initialize = forget

        # @return [void]
        def forget
          @ids = []
        end

        # @param driver [#call] connected
        # @return [Integer] 0 where the server does not say
        def identify(driver)
          RunId.of(driver, @prefix)
        rescue RedisClient::CommandError, RunId::Unknown
          0
        end

        # Before a request is sent.
        #
        # @param id [Integer]
        # @return [void]
        def used(id) = @ids.include?(id) || @ids.push(id)
      end
    end
  end
end
