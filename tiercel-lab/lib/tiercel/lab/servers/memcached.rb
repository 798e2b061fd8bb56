# frozen_string_literal: true

require_relative "server"

module Tiercel
  module Lab
    module Servers
      # A memcached server.
      #
      #   Memcached.new(memory_mb: 64, max_item: "1m", threads: 2).start.url
      class Memcached < Server
        def self.program = "memcached"

        # @param memory_mb [Integer] memory for items, in MB
        # @param max_item [String] largest item, in memcached's own notation ("1m", "8m")
        # @param threads [Integer] worker threads
        # @param connections [Integer] the most simultaneous connections
        # @param options see {Server#initialize}
        def initialize(memory_mb: 64, max_item: "1m", threads: 2, connections: 1024, **options)
          super(**options)
          @memory_mb = memory_mb
          @max_item = max_item
          @threads = threads
          @connections = connections
        end

        # @return [String] "memcached://HOST:PORT" or "memcached:/path/to.sock"
        def url = socket ? "memcached:#{socket}" : "memcached://#{HOST}:#{port}"

        # @return [String] "HOST:PORT" or the socket's path, for Dalli and Rails' :mem_cache_store
        def address = socket || "#{HOST}:#{port}"

        private

        def arguments
          place = socket ? ["-s", socket] : ["-l", HOST, "-p", port.to_s, "-U", "0", *tls_arguments]
          # Without this option memcached refuses to run as root.
          user = Process.euid.zero? ? ["-u", "root"] : []
          ["-m", @memory_mb.to_s, "-I", @max_item, "-t", @threads.to_s, "-c", @connections.to_s, *place, *user]
        end

        def tls_arguments
          return [] unless certificate
          ["-Z", "-o", "ssl_chain_cert=#{certificate.file},ssl_key=#{certificate.key_file}"]
        end

        # Uses KILL alone: memcached writes nothing to disk, and takes a second to end after TERM.
        def stop_signals = %i[KILL]

        def ask_version = exchange("version\r\n") { |io| io.gets.to_s[/\AVERSION (\S+)/, 1] }
      end
    end
  end
end
