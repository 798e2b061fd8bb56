# frozen_string_literal: true

require "digest"
require "redis-client"

require_relative "../../backend"

module Tiercel
  module Backends
    class Redis < Backend
      # Identifies the server that a connection leads to, by the random run id of each Redis process.
      #
      # @private
      module RunId
        INFO = %w[INFO server].freeze
        FIELD = /^run_id:(\w+)/
        private_constant :INFO, :FIELD

        # The server does not report its run id.
        class Unknown < RedisClient::Error; end

        # @param driver [#call] an open connection
        # @param prefix [String, nil] the key prefix that is part of the identity
        # @return [Integer] from 1 to 2^63 - 1
        # @raise [RedisClient::Error]
        def self.of(driver, prefix = nil)
          id = driver.call(INFO, nil)[FIELD, 1] or raise Unknown, "INFO server has no run_id"
          Digest::SHA256.digest("#{id} #{prefix}").unpack1("Q<") >> 1 | 1
        end
      end
    end
  end
end
