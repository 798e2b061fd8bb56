# frozen_string_literal: true

require_relative "../../stores"

module Tiercel
  module Lab
    module Contestants
      # A client below any store: bytes under keys. `TYPE`, or `TYPE:ring` for two memcacheds; `#version=3.2` takes
      # another version of its gem, `#bundle=/path/to.gemfile` a bundle of the user's.
      class Client < Contestant
        facts kind: :client, medium: :loopback

        OWN = %i[version bundle].freeze
        # All clients wait so long for an answer: what is compared is the cost of calls, also on a busy machine.
        PATIENCE_SECONDS = 5

        def servers = [place == "ring" ? :memcached_ring : :memcached]

        def bundle
          options[:bundle] || ("#{text[/\A\w+/]}_#{options[:version]}" if options[:version])
        end

        def build(context) = connect(context.server(servers.first).fetch("url"), **options.except(*OWN))

        # The server ends with the run.
        def tear_down(subject, _names) = subject.close

        private

        def addresses(url) = url[%r{//([^/]+)}, 1].split(",")
      end

      define "dalli", like: Client, gems: %w[dalli], places: ["", "ring"] do
        def connect(url, **options)
          require_relative "clients"
          Tables::Client::DalliClient.new(addresses(url), value_max_bytes: 8 * 1024 * 1024,
                                                          socket_timeout: Client::PATIENCE_SECONDS, **options)
        end
      end

      # `#driver=:hiredis` takes the driver of the gem hiredis-client.
      define "redis_client", like: Client, servers: %i[redis], places: [""] do
        def gems = ["redis-client", *("hiredis-client" if options[:driver] == :hiredis)]

        def connect(url, **options)
          require_relative "clients"
          Tables::Client::RedisClientGem.new(url, timeout: Client::PATIENCE_SECONDS, **options)
        end
      end

      define "redis_gem", like: Client, gems: %w[redis], servers: %i[redis], places: [""] do
        def connect(url, **options)
          require_relative "clients"
          Tables::Client::RedisGem.new(url, timeout: Client::PATIENCE_SECONDS, **options)
        end
      end

      BELOW_STORE = { "memcached" => :memcached, "ring" => :memcached_ring, "redis" => :redis }.freeze

      # Tiercel's own, below its store.
      define "backend", like: Client, gems: %w[tiercel], places: BELOW_STORE.keys do
        def servers = [BELOW_STORE.fetch(place)]

        def connect(url, **options)
          handler = ->(exception:, **) { raise exception }
          ::Tiercel.new(url, error_handler: handler, timeout: Client::PATIENCE_SECONDS, **options).backend
        end
      end

      # A socket, without any client.
      define "raw", like: "backend", gems: [] do
        def connect(url, **options)
          (place == "redis" ? RawSocket::Redis : RawSocket::Memcached).new(addresses(url), **options)
        end
      end
    end
  end
end
