# frozen_string_literal: true

require_relative "../servers"

module Tiercel
  module Lab
    module Load
      # A cache server for one load, with a memory limit. A full server evicts the least recently used entries.
      module CacheServer
        MEGABYTE = 1024 * 1024

        # @param kind [Symbol, nil] :memcached or :redis; nil: no server
        # @param bytes [Integer]
        # @param options [Hash] see {Servers::Server#initialize}
        # @return [Servers::Server, nil] started
        def self.start(kind, bytes:, **options)
          case kind
          when :memcached then Servers::Memcached.new(memory_mb: [bytes / MEGABYTE, 1].max, **options).start
          when :redis then Servers::Redis.new(maxmemory: bytes.to_s, policy: "allkeys-lru", **options).start
          end
        end

        # @param server [Servers::Server, nil]
        # @return [Hash{String => String}] URL and address for a contestant
        def self.facts(server)
          { "url" => server.url, "address" => (server.address if server.respond_to?(:address)) }.compact
        end
      end
    end
  end
end
