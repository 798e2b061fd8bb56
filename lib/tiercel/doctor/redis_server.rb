# frozen_string_literal: true

module Tiercel
  class Doctor
    # The Redis server behind a store of Tiercel or Rails. It runs only read-only commands.
    class RedisServer
      # Maximum number of sampled keys, so that a large server takes no longer than a small one.
      SAMPLE = 500
      REFUSED = /NOPERM|unknown command|not allowed|disabled/i
      private_constant :SAMPLE, :REFUSED

      # @param subject [Subject]
      # @return [RedisServer, nil] nil if the store uses another server
      def self.of(subject)
        if subject.over?("Redis")
          backend = subject.last
          new(backend.to_s, backend.database) { |*command| backend.ask(*command) }
        elsif subject.kind == :redis_cache_store
          of_rails(subject.store.redis)
        end
      end

      # @param redis [Redis, ConnectionPool]
      def self.of_rails(redis)
        database = redis.then { |client| client.respond_to?(:connection) ? client.connection[:db] : 0 }
        new("redis_cache_store", database) { |*command| redis.then { |client| client.call(*command) } }
      end
      private_class_method :of_rails

      # @return [Integer]
      attr_reader :database

      # @yieldparam command [Array<String>]
      # @yieldreturn [Object] the reply
      def initialize(name, database, &ask)
        @name = name
        @database = database
        @ask = ask
      end

      # @return [Hash{String => String}] empty if INFO is refused
      def info
        @info ||= ask("INFO").to_s.scan(/^(\w+):(.*?)\r?$/).to_h
      end

      # @return [Array<Array(String, String, Integer)>, nil] key, type and TTL in ms (-1: none); nil if SCAN is
      #   refused
      def sample
        keys = keys_of_sample or return
        keys.map { |key| [key, ask("TYPE", key).to_s, ask("PTTL", key).to_i] }
      end

      # @return [String] the URL without its password
      def to_s = @name

      private

      def keys_of_sample
        keys, cursor = [], "0"
        until keys.size >= SAMPLE
          cursor, page = ask("SCAN", cursor, "COUNT", "100") || (return)
          keys.concat(page)
          break if cursor == "0"
        end
        keys.first(SAMPLE)
      end

      # @return [Object, nil] nil if the user lacks the permission
      def ask(*command)
        @ask.call(*command)
      rescue StandardError => error
        raise unless REFUSED.match?(error.message)
      end
    end
  end
end
