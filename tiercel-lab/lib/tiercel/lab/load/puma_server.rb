# frozen_string_literal: true

require_relative "../engine/server_cpu"
require_relative "../engine/resident_memory"
require_relative "../servers"

module Tiercel
  module Lab
    module Load
      # The application under Puma, with two workers that a master has preloaded it for.
      class PumaServer < Servers::Server
        # An application of Rails takes its time, and many start at once.
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

        # @return [Array<Integer>] of the workers at present, without the master
        def workers = File.read("/proc/#{pid}/task/#{pid}/children").split.map(&:to_i)

        # @return [Float, nil] seconds of CPU time of all its processes
        def cpu_seconds = Engine::ServerCPU.seconds([pid, *workers])

        # @return [Integer, nil] bytes of all its processes
        def memory_bytes = Engine::ResidentMemory.bytes([pid, *workers])

        # Ends one worker as the kernel does when memory is short.
        def kill_worker = Process.kill(:KILL, workers.first)

        private

        def arguments
          given, removed = environment.partition { |_name, value| value }
          ["-C", @shop.folder, *removed.flat_map { |name, _value| ["-u", name] },
           *given.map { |pair| pair.join("=") }, RbConfig.ruby, "-S", "puma", "-C", "config/puma.rb"]
        end

        # Only warnings are logged; nobody is limited.
        def environment
          { **@shop.environment(@cache_store), "BIND" => "tcp://#{HOST}:#{port}", "WEB_CONCURRENCY" => WORKERS.to_s,
            "RAILS_MAX_THREADS" => THREADS.to_s, "RAILS_LOG_LEVEL" => "warn", "SEARCHES_A_MINUTE" => "1000000000" }
        end

        # Listening comes first, workers come later; a request would fill caches.
        def ask_version = workers.size == WORKERS && exchange("") { "listening" }
      end
    end
  end
end
