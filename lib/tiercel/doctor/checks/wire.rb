# frozen_string_literal: true

require "ipaddr"
require_relative "../check"

module Tiercel
  class Doctor
    module Checks
      # Does Marshal load bytes from a network connection without TLS? Anyone who can change those bytes runs code
      # here.
      class Wire < Check
        RAILS = %i[redis_cache_store mem_cache_store].freeze
        private_constant :RAILS

        private

        def examine
          return of_rails if RAILS.include?(subject.kind)
          return unless subject.tiercel? && subject.last.remote?
          url = subject.store.configuration.url
          return sound("the connection uses TLS") if tls?(url)
          return sound("the server is on this machine") if local?(url)
          return sound("nothing is loaded with Marshal") unless subject.store.configuration.marshal?
          marshal_in_the_clear(url, "use TLS (rediss://, or ssl: true for memcached), or marshal: false")
        end

        # Rails' own stores can always load Marshal payloads, because every serializer falls back to Marshal.
        def of_rails
          hosts, encrypted = subject.kind == :redis_cache_store ? redis : memcached
          return sound("the connection uses TLS") if encrypted
          return sound("the server is on this machine") if hosts.all? { |host| local_host?(host) }
          marshal_in_the_clear(hosts.join(", "), "use TLS: rediss://, or ssl_context: for memcached")
        end

        # @return [Array(Array<String>, Boolean)] hosts, and whether the connection is encrypted
        def redis
          redis = subject.store.redis
          # Rails 8.2 uses redis-client instead of the gem redis.
          config = (redis.respond_to?(:_client) ? redis._client : redis).config
          [[config.path ? "" : config.host], config.ssl?]
        end

        def memcached
          names = subject.store.stats.keys
          hosts = names.map { |name| name.start_with?("/") ? "" : name.sub(/:\d+\z/, "") }
          [hosts, !subject.store.options[:ssl_context].nil?]
        end

        def marshal_in_the_clear(place, fix)
          found("#{place}: values are loaded with Marshal over a network without TLS: a host on the path can run " \
                "code in this process", fix:)
        end

        def tls?(url) = url.scheme.start_with?("rediss") || subject.store.configuration.tls?

        def local?(url)
          return true if url.scheme == "unix" || url.place.start_with?("/")
          url.to_s.delete_prefix("#{url.scheme}:").delete_prefix("//").split("/").first.to_s.split(",").all? do |server|
            local_host?(server[/\A\[([^\]]*)\]|\A([^:]*)/].delete("[]"))
          end
        end

        def local_host?(host) = ["", "localhost"].include?(host) || loopback?(host)

        def loopback?(host)
          IPAddr.new(host).loopback?
        rescue IPAddr::Error
          false
        end
      end
    end
  end
end
