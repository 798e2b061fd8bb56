# frozen_string_literal: true

require_relative "../table"
require_relative "trial"
require_relative "view"

module Tiercel
  module Lab
    module Tables
      # A Rails application under Puma, with each store.
      module App
        class Table < Tables::Table
          called "app", "A Rails application under Puma with two workers, on every store."
          example "app --quick", "app --page /products --store tiercel:shared:,memory_store",
                  "app --store tiercel:redis:,redis_cache_store --kill-worker --stop-server", "app --rails 7.2"
          takes :quick, :seed
          full processes: 4, most_processes: nil, blocks: 4
          quick processes: 1, blocks: 4
          in_all 110, arguments: ["--page", "/products", "--store", "tiercel:shared:,tiercel:redis:,memory_store," \
                                                                    "redis_cache_store,null_store"]

          # To a store in half a block.
          REQUESTS = 60
          QUICK_REQUESTS = 24

          def options(parser)
            parser.on("--store A,B", Array, "of #{Design::STORES.keys.join(", ")}") do |names|
              (@stores ||= []).concat(known_of(Design::STORES, "--store", names))
            end
            parser.on("--page A,B", Array, "of #{Design::PAGES.keys.join(", ")}") do |paths|
              (@pages ||= []).concat(known_of(Design::PAGES, "--page", paths))
            end
            parser.on("--requests N", Integer, "in half a block (#{REQUESTS})") do |count|
              @requests = number(count, "--requests").to_i
            end
            parser.on("--connections N", Integer, "at once (4)") do |count|
              @connections = number(count, "--connections").to_i
            end
            parser.on("--kill-worker", "kill -9 a worker of each while it serves") { incidents << "kill_worker" }
            parser.on("--stop-server", "let the cache server hang while it is asked") { incidents << "stop_server" }
            parser.on("--rails LINE", Engine::Shop::LINES, Engine::Shop::LINES.join(", ")) { |line| @line = line }
          end

          def expected_seconds = trial.expected_seconds

          def plan_in_words
            "#{stores.join(", ")}; #{pages.join(", ")}: #{protocol.processes} x fresh applications, " \
              "#{protocol.blocks} blocks x #{2 * requests} requests over #{connections} connections."
          end

          def take(_comparisons)
            run.try(trial, trial.expected_seconds)
            run.table("pages", trial.rows, requests:, connections:, rails: @line || Engine::Shop::LINES.first,
                                           workers: PumaServer::WORKERS, threads: PumaServer::THREADS)
            run.table("memory", trial.memory.to_a, kind: Engine::ResidentMemory.kind)
            run.table("incidents", trial.incident_rows.to_a) if incidents.any?
          end

          def exit_code
            super.nonzero? || CODES[recorded_rows.any? { |row| row["status"] == "cannot run" } ? :undecided : :ok]
          end

          private

          def known_of(all, option, names)
            names.each { |name| all.key?(name) or raise UsageError, Catalogue.unknown(option, name, all.keys) }
          end

          def incidents = @incidents ||= []
          def stores = (@stores || Design::STORES.keys).uniq
          def pages = (@pages || Design::PAGES.keys).uniq
          def connections = @connections || 4
          def requests = ((@requests || (settings.quick ? QUICK_REQUESTS : REQUESTS)) / connections * connections)

          def trial
            @trial ||= Trial.new(stores, pages:, protocol:, requests: [requests, connections].max, connections:,
                                         incidents: incidents.uniq, line: @line || Engine::Shop::LINES.first,
                                         seed: settings.seed)
          end
        end
      end

      add App::Table
    end
  end
end
