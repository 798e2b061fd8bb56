# frozen_string_literal: true

require_relative "../engine/resident_memory"
require_relative "../engine/server_cpu"
require_relative "cache_server"
require_relative "puma_server"

module Tiercel
  module Lab
    module Load
      # One application with one store, and the cache server that the store needs.
      class Application
        # Failures of an application while it serves.
        INCIDENTS = %w[kill_worker stop_server].freeze
        CACHE_BYTES = 64 * 1024 * 1024
        # Seconds for requests to come in before the incident.
        PAUSE_SECONDS = 0.2

        # @param shop [Engine::Shop]
        # @param store [#text, #server] the store; its text has names of folders and addresses to fill in
        # @param folders [Hash{Symbol => String}] "memory" and "disk"
        def initialize(shop, store, folders)
          @shop = shop
          @store = store
          @folders = folders
        end

        # @return [self]
        def start
          @server = CacheServer.start(@store.server, bytes: CACHE_BYTES)
          @puma = PumaServer.new(@shop, cache_store).start
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

        # @return [Boolean]
        def suffers?(incident) = incident == "kill_worker" || !@server.nil?

        # @return [void]
        def kill_worker
          sleep PAUSE_SECONDS
          @puma.kill_worker
        end

        # Lets the server hang, which is worse for its clients than a stopped server.
        #
        # @return [void]
        def stop_server
          sleep PAUSE_SECONDS
          @server.pause
        end

        # @return [void]
        def recover(incident) = (@server.resume if incident == "stop_server")

        private

        # Does not use `format`, which warns about names that a text does not contain.
        def cache_store = @store.text.gsub(/%<(\w+)>s/) { { **@folders, **places }.fetch($1.to_sym) }

        def places = @server ? { url: @server.url, address: "#{@server.host}:#{@server.port}" } : {}

        def cpu
          [@puma.cpu_seconds, @server ? Engine::ServerCPU.seconds([@server.pid]) : 0.0]
        end
      end
    end
  end
end
