# frozen_string_literal: true

require_relative "../engine/server_cpu"
require_relative "../engine/resident_memory"
require_relative "../servers"

module Tiercel
  module Lab
    module Load
      # The application under Puma, preloaded by a master, with two workers.
      class PumaServer < Servers::Server
        # A Rails application takes a long time to start, and several start at once.
        START_SECONDS = 60
        WORKERS = 2
        THREADS = 3

        def self.program = "env"
        def self.package = "coreutils"

        # @param shop [Engine::Shop]
        # @param cache_store [String]
        def initialize(shop, cache_store, **)
          super(**)
          @shop = shop
          @cache_store = cache_store
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

        # Kills one worker, as the kernel does when memory runs out.
        def kill_worker = Process.kill(:KILL, workers.first)

        private

        def arguments
          given, removed = environment.partition { |_name, value| value }
          ["-C", @shop.folder, *removed.flat_map { |name, _value| ["-u", name] },
           *given.map { |pair| pair.join("=") }, RbConfig.ruby, "-S", "puma", "-C", "config/puma.rb"]
        end

        # Logs only warnings, and lifts the rate limit.
        def environment
          { **@shop.environment(@cache_store), "BIND" => "tcp://#{HOST}:#{port}", "WEB_CONCURRENCY" => WORKERS.to_s,
            "RAILS_MAX_THREADS" => THREADS.to_s, "RAILS_LOG_LEVEL" => "warn", "SEARCHES_A_MINUTE" => "1000000000" }
        end

        # The server listens before its workers are ready. A request would find out more, but it would fill caches.
        def ask_version = workers.size == WORKERS && exchange("") { "listening" }
      end
    end
  end
end
