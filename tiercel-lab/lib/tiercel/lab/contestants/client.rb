# frozen_string_literal: true

require_relative "../contestant"

module Tiercel
  module Lab
    module Contestants
      # A client below any store: bytes under keys. `TYPE`, or `TYPE:ring` for two memcacheds; `#version=3.2` takes
      # another version of its gem, `#bundle=/path/to.gemfile` a bundle of the user's.
      #
      # @abstract Subclasses implement {#connect}.
      class Client < Contestant
        OWN = %i[version bundle].freeze
        # All clients wait so long for an answer: what is compared is the cost of calls, also on a busy machine.
        PATIENCE_SECONDS = 5

        def kind = :client

        def medium = :loopback

        def servers = [place == "ring" ? :memcached_ring : :memcached]

        def bundle
          return options[:bundle] if options[:bundle]
          "#{text[/\A\w+/]}_#{options[:version]}" if options[:version]
        end

        def build(context) = connect(context.server(servers.first).fetch("url"), **options.except(*OWN))

        # The server ends with the run.
        def tear_down(subject, _names) = subject.close

        private

        def addresses(url) = url[%r{//([^/]+)}, 1].split(",")
      end

      # The gem dalli.
      class Dalli < Client
        LARGEST_BYTES = 8 * 1024 * 1024

        def gems = %w[dalli]

        private

        def connect(url, **options)
          require_relative "../client/dalli_client"
          Lab::Client::DalliClient.new(addresses(url), value_max_bytes: LARGEST_BYTES, socket_timeout: PATIENCE_SECONDS,
                                       **options)
        end
      end

      # The gem redis-client; `#driver=:hiredis` takes the driver of the gem hiredis-client.
      class RedisClient < Client
        def gems = ["redis-client", *("hiredis-client" if options[:driver] == :hiredis)]

        def servers = %i[redis]

        private

        def connect(url, **options)
          require_relative "../client/redis_clients"
          Lab::Client::RedisClientGem.new(url, timeout: PATIENCE_SECONDS, **options)
        end
      end

      # The gem redis.
      class RedisGem < RedisClient
        def gems = %w[redis]

        private

        def connect(url, **options)
          require_relative "../client/redis_clients"
          Lab::Client::RedisGem.new(url, timeout: PATIENCE_SECONDS, **options)
        end
      end

      # Tiercel's own, below its store: `backend:memcached`, `backend:ring`, `backend:redis`.
      class Backend < Client
        SERVERS = { "memcached" => :memcached, "ring" => :memcached_ring, "redis" => :redis }.freeze

        def gems = %w[tiercel]

        def servers
          [SERVERS.fetch(place) { raise UsageError, "#{text}: expected backend:#{SERVERS.keys.join(", backend:")}" }]
        end

        private

        def connect(url, **options)
          handler = ->(exception:, **) { raise exception }
          ::Tiercel.new(url, error_handler: handler, timeout: PATIENCE_SECONDS, **options).backend
        end
      end

      # A socket: `raw:memcached`, `raw:ring`, `raw:redis`.
      class RawClient < Backend
        def gems = []

        private

        def connect(url)
          require_relative "../client/raw_socket"
          (place == "redis" ? Lab::Client::RawRedis : Lab::Client::RawMemcached).new(addresses(url))
        end
      end

      register "dalli", Dalli
      register "redis_client", RedisClient
      register "redis_gem", RedisGem
      register "backend", Backend
      register "raw", RawClient
    end
  end
end
