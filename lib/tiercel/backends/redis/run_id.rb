# frozen_string_literal: true

require "digest"
require "redis-client"

require_relative "../../backend"

module Tiercel
  module Backends
    class Redis < Backend
      # Which server a connection leads to: the number that each process of Redis draws when it starts.
      #
      # @private
      module RunId
        INFO = %w[INFO server].freeze
        FIELD = /^run_id:(\w+)/
        private_constant :INFO, :FIELD

        # A server that does not say which one it is.
        class Unknown < RedisClient::Error; end

        # @param driver [#call] connected
        # @param prefix [String, nil] of the keys that the answer is about
        # @return [Integer] below 2^63, never 0
        # @raise [RedisClient::Error]
        def self.of(driver, prefix = nil)
          id = driver.call(INFO, nil)[FIELD, 1] or raise Unknown, "INFO server names no run_id"
          Digest::SHA256.digest("#{id} #{prefix}").unpack1("Q<") >> 1 | 1
        end
      end
    end
  end
end
