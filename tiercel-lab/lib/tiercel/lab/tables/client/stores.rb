# frozen_string_literal: true

require_relative "../../stores"

module Tiercel
  module Lab
    module Contestants
      # A client without a store: bytes under keys. `TYPE:ring` connects to two memcached servers, `#version=3.2` takes
      # another version of the gem, and `#bundle=/path/to.gemfile` a bundle of the user.
      class Client < Contestant
        facts kind: :client, medium: :loopback

        OWN = %i[version bundle].freeze
        # All clients have the same long timeout, so that a busy machine causes no errors.
        PATIENCE_SECONDS = 5

        def servers = [place == "ring" ? :memcached_ring : :memcached]

        def bundle
          options[:bundle] || ("#{text[/\A\w+/]}_#{options[:version]}" if options[:version])
        end

        def build(context) = connect(context.server(servers.first).fetch("url"), **options.except(*OWN))

        # Keys stay, because the server ends with the run.
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

      # A backend of Tiercel, without its store.
      define "backend", like: Client, gems: %w[tiercel], places: BELOW_STORE.keys do
        def servers = [BELOW_STORE.fetch(place)]

        def connect(url, **options)
          handler = ->(exception:, **) { raise exception }
          ::Tiercel.new(url, error_handler: handler, timeout: Client::PATIENCE_SECONDS, **options).backend
        end
      end

      # A raw socket, without a client.
      define "raw", like: "backend", gems: [] do
        def connect(url, **options)
          (place == "redis" ? RawSocket::Redis : RawSocket::Memcached).new(addresses(url), **options)
        end
      end
    end
  end
end
