# frozen_string_literal: true

require "digest"

module Tiercel
  module Backends
    class Redis < Backend
      # Collects the servers that a process' connections have led to since the last {#forget}. A server has a number,
      # from the random run id of its process.
      #
      # @private
      class SeenServers
        INFO = %w[INFO server].freeze
        RUN_ID = /^run_id:(\w+)/
        private_constant :INFO, :RUN_ID

        # The server does not report its run id.
        class Unknown < StandardError; end

        # @return [Array<Integer>] results of {.id}; {#forget} replaces the Array
        attr_reader :ids
        # @return [String, nil]
        attr_accessor :prefix

        # @param connection [Connection] open
        # @param deadline [Float]
        # @param prefix [String, nil] the key prefix that is part of the identity
        # @return [Integer] from 1 to 2^63 - 1
        # @raise [ReplyError, Unknown]
        def self.id(connection, deadline, prefix)
          connection.write_all([INFO], deadline)
          reply = connection.read_reply(deadline)
          raise reply if reply.is_a?(ReplyError)
          run_id = reply.to_s[RUN_ID, 1] or raise Unknown, "INFO server has no run_id"
          Digest::SHA256.digest("#{run_id} #{prefix}").unpack1("Q<") >> 1 | 1
        end

        def initialize = forget

        # @return [void]
        def forget
          @ids = []
        end

        # @param connection [Connection] open
        # @param deadline [Float]
        # @return [Integer] 0 if the server does not report its id
        def identify(connection, deadline)
          SeenServers.id(connection, deadline, @prefix)
        rescue ReplyError, Unknown
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
