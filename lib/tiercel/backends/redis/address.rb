# frozen_string_literal: true

require "redis-client"

require_relative "../../backend"
require_relative "../../errors"
require_relative "../../optional_gems"
require_relative "../remote/options"
require_relative "deadline"
require_relative "node_share"
require_relative "sentinels"

module Tiercel
  module Backends
    class Redis < Backend
      # Converts a URL and options for redis-client and redis-cluster-client.
      class Address
        CLUSTER = /\A(rediss?)\+cluster\z/
        # The breaker of each cluster node, so that a dead node does not delay calls for the other nodes' keys; after
        # a second the node is tried again. One call makes up to four attempts, so six failures take two to six calls.
        # Connecting and one command count as two successes.
        NODE_BREAKER = { error_threshold: 6, error_threshold_timeout: 10.0, error_timeout: 1.0,
                         success_threshold: 2 }.freeze
        # After this idle time, a PING checks the connection to a cluster node.
        IDLE_SECONDS = 1.0
        SECURE = /\Arediss/
        # The address in brackets or the host, and the port.
        SENTINEL = /\A(?:\[([^\]]*)\]|([^:]*))(?::(.*))?/m
        OPTIONS = %i[username password db driver ssl_params fixed_hostname
                     sentinels name role sentinel_username sentinel_password].freeze

        # @param url [BackendURL]
        # @param options [Hash] the options of {Redis.build}
        # @param timeout [Float] seconds for one call
        def initialize(url, options, timeout)
          @url = url
          @options = options
          @timeout = timeout
        end

        # @return [Boolean]
        def cluster? = CLUSTER.match?(@url.scheme)

        # @return [Integer] number of the database
        def database = cluster? ? 0 : Integer(@options[:db] || @url.place[%r{/(\d+)\z}, 1] || 0)

        # @param protocol [Integer] RESP2 needs no greeting, so opening a connection costs no trip
        # @return [RedisClient::Config::Common, RedisClient::ClusterConfig]
        # @raise [ConfigurationError]
        def config(protocol: 2)
          @protocol = protocol
          Remote::Options.check_ports(@url, hosts) unless @url.scheme == "unix"
          return cluster_config if cluster?
          @options[:sentinels] ? sentinel_config : RedisClient.config(**place, **common)
        rescue URI::Error # its message contains the password
          raise unreadable
        rescue ArgumentError => error
          raise if error.is_a?(ConfigurationError)
          raise ConfigurationError, "#{@url}: #{error.message}"
        end

        private

        def hosts = @url.place[%r{\A(?:.*@)?([^/]*)}m, 1].split(",")

        def common
          { protocol: @protocol, timeout: @timeout, reconnect_attempts: 0, driver: driver,
            connect_timeout: Remote::Options.seconds(@options[:connect_timeout], :connect_timeout, @timeout),
            **(tls? ? { ssl_params: tls_context } : {}),
            **@options.slice(:username, :password) }
        end

        def tls_context
          params = @options[:ssl_params]
          context = Remote::TLSContext.new(params) do |copy|
            driver.ssl_context(copy).tap { |made| made.setup if made.respond_to?(:setup) }
          end
          driver.is_a?(Deadline::Certificates) ? context : Remote::TLSContext.parse(params)
        end

        # Only the driver in Ruby checks that the certificate belongs to the host (adr/006).
        def driver
          name = @options[:driver]
          return Deadline.driver(name) unless tls?
          return Deadline.driver(name || :ruby) if name&.to_sym != :hiredis || any_host?
          raise ConfigurationError, "#{@url}: driver: :hiredis does not verify host names, so it cannot be used with " \
                                    "TLS. Remove driver: or use :ruby; or disable the check with " \
                                    "ssl_params: { verify_hostname: false }"
        end

        # @return [Boolean] whether `ssl_params` accept a certificate of another host
        def any_host?
          params = Remote::TLSContext.parse(@options[:ssl_params])
          params[:verify_hostname] == false || params[:verify_mode] == OpenSSL::SSL::VERIFY_NONE
        end

        # Sentinels may use TLS even if the master does not.
        def tls? = SECURE.match?(@url.scheme) || (@options[:sentinels] && sentinels.any? { |one| secure?(one) })

        def secure?(sentinel) = sentinel[:ssl] || SECURE.match?(sentinel[:url].to_s)

        def place
          path = @url.scheme == "unix" && @url.place
          location = path ? { path: path.delete_prefix("//") } : { url: "#{@url.scheme}:#{@url.rest}" }
          raise ConfigurationError, "#{@url}: expected unix:/PATH" if path && path.empty?
          @options[:db] ? location.merge(db: Integer(@options[:db])) : location
        end

        def sentinel_config
          name = @options[:name] || @url.place[%r{\A(?:[^@/]*@)?([^:/?]+)}, 1]
          raise ConfigurationError, "sentinels: expected the master's name as the URL's host or as name:" unless name
          Sentinels.extend_config(RedisClient.sentinel(
            name: name, role: (@options[:role] || :master).to_sym, sentinels: sentinels, **sentinel_url, **common,
            **@options.slice(:sentinel_username, :sentinel_password), **db, **sentinel_tls
          ))
        end

        # Used for all Sentinels, including those that the listed ones announce.
        def sentinel_tls
          SECURE.match?(@url.scheme) && sentinels.all? { |sentinel| secure?(sentinel) } ? { ssl: true } : {}
        end

        def sentinel_url = @url.scheme == "unix" ? {} : { url: "#{@url.scheme}:#{@url.rest}" }

        def db = @options[:db] ? { db: Integer(@options[:db]) } : {}

        def sentinels
          given = @options[:sentinels]
          given = given.split(",") if given.is_a?(String)
          raise ConfigurationError, "sentinels: expected at least one HOST:PORT, got none" if Array(given).empty?
          Array(given).map do |sentinel|
            next sentinel(sentinel) unless sentinel.is_a?(Hash)
            sentinel.transform_keys(&:to_sym).except(:driver, :ssl_params)
          end
        end

        # @param text [String] HOST[:PORT] or [ADDRESS][:PORT], or with rediss:// before it for TLS
        def sentinel(text)
          scheme, place = text.strip.match(%r{\A(?:(rediss?)://)?(.*)\z}m).captures
          Remote::Options.check_ports("sentinels: #{place}", [place])
          address, host, port = place.match(SENTINEL).captures
          { host: address || host, port: Integer(port || 26_379), **(scheme == "rediss" ? { ssl: true } : {}) }
        end

        def cluster_config
          check_cluster_options
          load_cluster_client
          begin
            RedisClient.cluster(nodes: cluster_nodes, concurrency: { model: :none }, **common,
                                driver: NodeShare.driver(driver), fixed_hostname: @options[:fixed_hostname].to_s,
                                circuit_breaker: NODE_BREAKER, idle_timeout: IDLE_SECONDS)
          rescue RedisClient::ClusterConfig::InvalidClientConfigError
            raise unreadable
          end
        end

        def load_cluster_client
          require "redis-cluster-client"
          OptionalGems.check("redis-cluster-client")
        rescue LoadError => error
          raise MissingDependency, "#{@url.scheme}: needs the gem redis-cluster-client (#{error.message}). " \
                                   "Add to the Gemfile: #{OptionalGems.line("redis-cluster-client")}"
        end

        def unreadable
          form = cluster? ? "HOST:PORT[,HOST:PORT]" : "HOST[:PORT][/DATABASE]"
          ConfigurationError.new("#{@url}: expected #{@url.scheme}://[USER:PASSWORD@]#{form}, with special " \
                                 "characters in user and password percent-encoded")
        end

        def check_cluster_options
          given = %i[sentinels name role sentinel_username sentinel_password].select { |name| @options[name] }
          given << :db unless [nil, "0", 0].include?(@options[:db])
          return if given.empty?
          raise ConfigurationError, "#{@url}: #{given.join(", ")}: a cluster does not support this, because it finds " \
                                    "its masters itself and has only one database"
        end

        def cluster_nodes
          scheme = @url.scheme[CLUSTER, 1]
          user, places = @url.place.match(%r{\A(?:(.*)@)?([^/]*)}).captures
          places = places.split(",").map(&:strip).reject(&:empty?)
          raise ConfigurationError, "#{@url}: expected #{@url.scheme}://HOST:PORT[,HOST:PORT]" if places.empty?
          places.map { |place| "#{scheme}://#{"#{user}@" if user}#{place}" }
        end
      end
    end
  end
end
