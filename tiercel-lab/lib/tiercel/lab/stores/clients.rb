# frozen_string_literal: true

module Tiercel::Lab
  # Clients of servers, with one interface.
  module Clients
    # Any version of dalli, with raw bytes: neither serialized nor compressed.
    class DalliClient
      RAW = { raw: true }.freeze

      def initialize(addresses, **options)
        @client = Dalli::Client.new(addresses, compress: false, **options)
        extend(Quiet) unless @client.respond_to?(:set_multi)
      end

      def get(key) = @client.get(key, RAW)
      def set(key, bytes) = @client.set(key, bytes, nil, RAW)
      def get_multi(keys) = @client.get_multi(*keys)
      def set_multi(pairs) = @client.set_multi(pairs, nil, RAW)
      def close = @client.close

      # Pipelines the multi calls of versions that lack them.
      module Quiet
        def set_multi(pairs) = @client.quiet { pairs.each { |key, bytes| @client.set(key, bytes, nil, RAW) } }
      end
    end

    # The gem redis-client.
    class RedisClientGem
      # @param options [Hash] options for RedisClient.config
      def initialize(url, **options)
        @client = RedisClient.config(url:, **options).new_client
      end

      def get(key) = @client.call("GET", key)
      def set(key, bytes) = @client.call("SET", key, bytes)
      def get_multi(keys) = keys.zip(@client.call("MGET", keys)).to_h
      def set_multi(pairs) = @client.call("MSET", pairs.to_a.flatten)
      def close = @client.close
    end

    # The gem redis, which uses redis-client.
    class RedisGem
      # @param options [Hash] options for Redis.new
      def initialize(url, **options)
        @client = ::Redis.new(url:, **options)
      end

      def get(key) = @client.get(key)
      def set(key, bytes) = @client.set(key, bytes)
      def get_multi(keys) = @client.mapped_mget(*keys)
      def set_multi(pairs) = @client.mapped_mset(pairs)
      def close = @client.close
    end
  end
end
