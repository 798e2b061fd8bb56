# frozen_string_literal: true

require "net/http"

module Tiercel::Lab
  module Load
    # Requests pages of an application, in a process of its own. Every answer is an {Engine::Outcome}.
    class Pages
      TIMEOUT_SECONDS = 30
      # Asks for uncompressed bodies, which can be compared byte by byte.
      HEADERS = { "Accept-Encoding" => "identity", "User-Agent" => "tiercel-lab" }.freeze

      # Requests a page again and again.
      #
      # @param url [String] URL of the application
      # @param path [String]
      # @param requests [Integer] number of requests of all connections together
      # @param connections [Integer] number of concurrent connections
      # @param sha256 [String, nil] digest that every body must have
      # @return [Hash] "ns" of each request, "seconds" of all; "sha256" and "bytes" of the last answer
      def ask(url:, requests:, path:, connections: 1, sha256: nil)
        found = Engine::Outcome.of do
          parts = Load.in_threads(connections) { over_one(URI(url), path, requests / connections, sha256) }
          body = parts.last[:body]
          { ns: parts.flat_map { |part| part[:ns] }, seconds: parts.map { |part| part[:seconds] }.max,
            sha256: Digest::SHA256.hexdigest(body), bytes: body.bytesize }
        end
        # The class of an error is for programmers; the user knows the address.
        found["reason"] ? found.merge("reason" => found["reason"].sub(/\A(SocketError|Errno::\w+): /, "")) : found
      end

      private

      # The requests of one persistent connection. Bodies are compared outside of the timed part.
      def over_one(uri, path, requests, sha256)
        http = connect(uri)
        started, body = Load.now, ""
        ns = Array.new(requests) do
          began = Load.now
          response = http.request(Net::HTTP::Get.new(path, HEADERS))
          took = ((Load.now - began) * 1e9).round
          body = checked(response, "#{uri}#{path}", sha256)
          took
        end
        { ns:, seconds: Load.now - started, body: }
      ensure
        http&.finish
      end

      def connect(uri)
        http = Net::HTTP.new(uri.host, uri.port)
        http.open_timeout = http.read_timeout = http.keep_alive_timeout = TIMEOUT_SECONDS
        http.max_retries = 0 # a request that was sent twice would be timed once
        http.start
      end

      # @return [String] the body
      # @raise [WrongValue] for another page
      def checked(response, url, sha256)
        unless response.is_a?(Net::HTTPSuccess)
          raise WrongValue, "#{url} answered #{response.code} #{response.message}"
        end
        body = response.body
        return body if sha256.nil? || Digest::SHA256.hexdigest(body) == sha256
        raise WrongValue, "#{url} answered with another body (#{body.bytesize} B) than at first"
      end
    end

    # The application under Puma, preloaded by a master, with two workers.
    class PumaServer < Servers::Server
      # A Rails application takes a long time to start, and several start at once, also on a slow machine.
      START_SECONDS = 180
      WORKERS = 2
      THREADS = 3

      def self.program = "env"
      def self.package = "coreutils"

      # @param shop [Engine::Shop]
      # @param cache_store [String]
      # @param threads [Integer] of each worker
      # @param variables [Hash{String => String}] further ones of its environment
      def initialize(shop, cache_store, threads: THREADS, variables: {}, **)
        super(**)
        @shop = shop
        @cache_store = cache_store
        @threads = threads
        @variables = variables
      end

      # @return [String]
      def url = "http://#{HOST}:#{port}"

      # @return [String]
      def to_s = "puma with #{@cache_store} at #{url}"

      # @return [Array<Integer>] PIDs of the present workers, without the master
      def workers = File.read("/proc/#{pid}/task/#{pid}/children").split.map(&:to_i)

      # @return [Float, nil] CPU seconds of master and workers
      def cpu_seconds = Engine::ServerCPU.seconds([pid, *workers])

      # @return [Integer, nil] memory of master and workers
      def memory_bytes = Engine::ResidentMemory.bytes([pid, *workers])

      private

      def arguments
        given, removed = environment.partition { |_name, value| value }
        ["-C", @shop.folder, *removed.flat_map { |name, _value| ["-u", name] },
         *given.map { |pair| pair.join("=") }, RbConfig.ruby, "-S", "puma", "-C", "config/puma.rb"]
      end

      # Logs only warnings, and lifts the rate limit.
      def environment
        { **@shop.environment(@cache_store), "BIND" => "tcp://#{HOST}:#{port}", "WEB_CONCURRENCY" => WORKERS.to_s,
          "RAILS_MAX_THREADS" => @threads.to_s, "RAILS_LOG_LEVEL" => "warn", "SEARCHES_A_MINUTE" => "1000000000",
          **@variables }
      end

      # The server listens before its workers are ready. A request would find out more, but it would fill caches.
      def ask_version = workers.size == WORKERS && exchange("") { "listening" }
    end

    # One application with one store, and the cache server that the store needs.
    class Application
      CACHE_MB = 64

      # @param shop [Engine::Shop]
      # @param store [#filled, #server] the store
      # @param folders [Hash{Symbol => String}] "memory" and "disk"
      # @param options [Hash] see {PumaServer#initialize}
      def initialize(shop, store, folders, **options)
        @shop = shop
        @store = store
        @folders = folders
        @options = options
      end

      # @return [self]
      def start
        @server = cache_server&.start
        @puma = PumaServer.new(@shop, @store.filled({ **@folders, **places }), **@options).start
        self
      rescue Servers::Error
        stop
        raise
      end

      # @return [void]
      def stop
        @puma&.stop
        @server&.stop
      end

      # @return [String]
      def url = @puma.url

      # @yieldreturn [Object]
      # @return [Array(Object, Float, Float)] the block's value; CPU seconds of the application and of the cache
      #   server during the block
      def counted
        before = cpu
        value = yield
        [value, *cpu.zip(before).map { |now, then_| now - then_ }]
      end

      # @return [Hash{String => Integer}] memory of the application's processes and of the cache server, in bytes
      def memory
        { "bytes" => @puma.memory_bytes,
          "server_bytes" => @server ? Engine::ResidentMemory.bytes([@server.pid]) : 0 }
      end

      private

      # A full server evicts the least recently used entries.
      def cache_server
        case @store.server
        when :memcached then Servers::Memcached.new(memory_mb: CACHE_MB)
        when :redis then Servers::Redis.new(maxmemory: "#{CACHE_MB}mb", policy: "allkeys-lru")
        end
      end

      def places = @server ? { url: @server.url, address: "#{@server.host}:#{@server.port}" } : {}

      def cpu
        [@puma.cpu_seconds, @server ? Engine::ServerCPU.seconds([@server.pid]) : 0.0]
      end
    end
  end
end
