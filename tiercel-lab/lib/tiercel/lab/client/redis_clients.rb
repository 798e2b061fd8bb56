# frozen_string_literal: true

module Tiercel
  module Lab
    module Client
      # The gem redis-client.
      class RedisClientGem
        # @param url [String]
        # @param options [Hash] of RedisClient.config
        def initialize(url, **options)
          @client = RedisClient.config(url:, **options).new_client
        end

        def get(key) = @client.call("GET", key)
        def set(key, bytes) = @client.call("SET", key, bytes)
        def get_multi(keys) = keys.zip(@client.call("MGET", keys)).to_h
        def set_multi(pairs) = @client.call("MSET", pairs.to_a.flatten)
        def delete_multi(keys) = @client.call("DEL", keys)
        def close = @client.close
      end

      # The gem redis, on top of it.
      class RedisGem
        # @param url [String]
        # @param options [Hash] of Redis.new
        def initialize(url, **options)
          @client = ::Redis.new(url:, **options)
        end

        def get(key) = @client.get(key)
        def set(key, bytes) = @client.set(key, bytes)
        def get_multi(keys) = @client.mapped_mget(*keys)
        def set_multi(pairs) = @client.mapped_mset(pairs)
        def delete_multi(keys) = @client.del(keys)
        def close = @client.close
      end
    end
  end
end
