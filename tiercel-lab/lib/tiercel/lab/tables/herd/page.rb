# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    module Herd
      # Many requests at once for a page whose fragments are all missing, under Puma.
      #
      # @!attribute [r] stores
      #   @return [Array<String>] some of {App::Design::STORES}
      # @!attribute [r] threads
      #   @return [Integer] of each worker
      # @!attribute [r] processes
      #   @return [Integer] workers: two, as {Load::PumaServer} has
      # @!attribute [r] block_ms
      #   @return [Float] CPU time to render a fragment
      PageDesign = Data.define(:stores, :threads, :processes, :block_ms, :rounds, :requests)

      class PageDesign
        FRAGMENTS = 10
        FULL = new(stores: %w[memory_store redis_cache_store mem_cache_store solid_cache_store tiercel:shared:
                              tiercel:memory: tiercel:redis: tiercel:memcached: tiercel:sqlite:],
                   threads: 5, processes: Load::PumaServer::WORKERS, block_ms: 50.0, rounds: 5, requests: 50)
        QUICK = FULL.with(stores: %w[memory_store redis_cache_store solid_cache_store tiercel:shared: tiercel:redis:],
                          rounds: 2)
        # Seconds to start an application and to warm it up.
        START_SECONDS = 6.0
        # Seconds of a round of a store that renders every fragment for nearly every request.
        ROUND_SECONDS = 3.0

        # @raise [UsageError]
        def check
          unknown = stores.find { |store| !App::Design::STORES.key?(store) }
          raise UsageError, Catalogue.unknown("--page, store", unknown, App::Design::STORES.keys) if unknown
          return if processes == Load::PumaServer::WORKERS
          raise UsageError, "--page --processes #{processes}: Puma has #{Load::PumaServer::WORKERS} workers"
        end

        def expected_seconds = stores.size * (START_SECONDS + (rounds * ROUND_SECONDS))

        # @return [String] for the plan
        def words
          "#{requests} requests at once for a page of #{FRAGMENTS} missing fragments, from #{stores.join(", ")}; " \
            "#{rounds} rounds."
        end
      end

      # Rows have "renderings" of each round, and "ms" of each request of each round. Every answer must have the same
      # body. The application adds a byte to a file for each rendering of a fragment.
      class PageTrial < App::Applications
        # Requests that load the code, to a page of their own; YJIT compiles at the 30th call.
        WARM_UP = 80

        private

        def measure
          prepare(Engine::Shop::LINES.first)
          @design.stores.each do |store|
            rows << { "store" => store, "renderings" => [], "ms" => [] }.merge(Engine::Outcome.of { ask_all(store) })
            @progress.advance(@design.expected_seconds / @design.stores.size, store)
          end
        end

        def ask_all(store)
          log = File.join(@scratch.folders.fetch("disk"), "renderings")
          site = start(store, threads: @design.threads, variables: { "RENDERINGS" => log })
          client = job("load/pages", pinning: Engine::Pinning.new(cpus: []))
          ask(client, site, "warm-up", 0, WARM_UP * Load::PumaServer::WORKERS)
          rounds = Array.new(@design.rounds) do |round|
            File.write(log, "")
            answer = ask(client, site, round, @design.block_ms, @design.requests)
            [File.size(log), answer["ns"].map { |ns| ns / 1e6 }]
          end
          { renderings: rounds.map(&:first), ms: rounds.map(&:last) }
        ensure
          client&.stop
          site&.stop
        end

        def ask(client, site, round, ms, requests)
          Load::Fleet.checked(client.call("ask", url: site.url, path: "/products/herd?round=#{round}&ms=#{ms}",
                                                 requests:, connections: @design.requests))
        end
      end
    end
  end
end
