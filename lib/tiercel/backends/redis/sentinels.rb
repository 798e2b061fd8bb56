# frozen_string_literal: true

require "redis-client"

require_relative "../../backend"
require_relative "deadline"

module Tiercel
  module Backends
    class Redis < Backend
      # Extends redis-client's configuration of a master behind Sentinels, so that a call reaches a working Sentinel
      # within its budget.
      #
      # redis-client sleeps for 0.25 s after a Sentinel has failed, lets a Sentinel that hangs use all the time of the
      # call, and asks the same Sentinel first the next time. A single dead Sentinel would keep every new connection
      # from the master.
      module Sentinels
        # @param config [RedisClient::SentinelConfig]
        # @return [RedisClient::SentinelConfig] the same object
        def self.extend_config(config) = Deadline.known? ? config.extend(self) : config

        private

        # Each Sentinel gets half of the remaining time. A Sentinel that has failed is asked last from then on.
        #
        # @yieldparam client [RedisClient] once a Sentinel has named a server, the block does not return
        # @raise [RedisClient::Error] the last failure
        def each_sentinel
          failure = nil
          @sentinel_configs.dup.each do |sentinel|
            client = sentinel_client(sentinel)
            Deadline.half { yield client }
          rescue RedisClient::Error => failure
            @sentinel_configs.push(@sentinel_configs.delete(sentinel))
          ensure
            client&.close
          end
          raise failure if failure
        end

        # redis-client would sleep before it refuses a server of another role.
        def sleep(_seconds) = nil
      end
    end
  end
end
