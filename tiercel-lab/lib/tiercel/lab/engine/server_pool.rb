# frozen_string_literal: true

require_relative "../errors"

module Tiercel
  module Lab
    module Engine
      # The servers of one run. A server starts when the first contestant needs it, on a free loopback port, and stops
      # at the end.
      class ServerPool
        # Enough for all of the lab's values at once, so that nothing is evicted.
        MEMORY_MB = 1024
        LARGEST_ITEM = "8m"

        # @param pinning [Pinning]
        def initialize(pinning:)
          @pinning = pinning
          @servers = {}
          @facts = {}
        end

        # @param names [Array<Symbol>]
        # @return [Hash{String => Hash}] for each server: "url", "address", "version", or "error" with a command that
        #   helps
        def facts(names)
          names.to_h { |name| [name.to_s, @facts[name] ||= start(name)] }
        end

        # @return [Array<Hash{String => Object}>] the running servers, for the results
        def describe = @facts.map { |name, facts| { "name" => name.to_s }.merge(facts) }

        # @return [void]
        def stop
          @servers.each_value(&:stop)
          @servers.clear
          @facts.clear
        end

        private

        def start(name)
          require_relative "../servers"
          server = build(name)
          server.start
          @servers[name] = server
          { "url" => server.url, "address" => (server.address if server.respond_to?(:address)),
            "version" => (server.version if server.respond_to?(:version)),
            "pid" => (server.pid if server.respond_to?(:pid)) }.compact
        rescue Servers::Error => e
          { "error" => e.message.lines.first.strip }
        end

        def build(name)
          case name
          when :memcached
            Servers::Memcached.new(memory_mb: MEMORY_MB, max_item: LARGEST_ITEM, cpu: @pinning.server_cpu)
          when :memcached_as_shipped then Servers::Memcached.new(cpu: @pinning.server_cpu)
          when :memcached_ring
            Servers::MemcachedRing.new(count: 2, memory_mb: MEMORY_MB / 2, max_item: LARGEST_ITEM,
                                       cpu: @pinning.server_cpu)
          when :redis then Servers::Redis.new(cpu: @pinning.server_cpu)
          when :redis_cluster then Servers::RedisCluster.new
          when :postgresql then Servers::PostgreSQL.new(cpu: @pinning.server_cpu)
          else
            raise UsageError, "server #{name.inspect}: expected memcached, memcached_as_shipped, memcached_ring, " \
                              "redis, redis_cluster or postgresql"
          end
        end
      end
    end
  end
end
