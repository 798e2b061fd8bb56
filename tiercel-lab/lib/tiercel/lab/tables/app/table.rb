# frozen_string_literal: true

require_relative "../../engine/shop"
require_relative "../../load/application"
require_relative "../table"

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

          # Requests to a store in half a block.
          REQUESTS = 60
          QUICK_REQUESTS = 24

          def options(parser)
            names parser, "--store", Design::STORES, :stores
            names parser, "--page", Design::PAGES, :pages
            fact parser, "--requests N", "in half a block (#{REQUESTS})", :requests, :count
            fact parser, "--connections N", "at once (4)", :connections, :count
            parser.on("--kill-worker", "kill -9 a worker of each during the requests") { incidents << "kill_worker" }
            parser.on("--stop-server", "pause the cache server during the requests") { incidents << "stop_server" }
            parser.on("--rails LINE", Engine::Shop::LINES, Engine::Shop::LINES.join(", ")) { |line| @line = line }
          end

          def expected_seconds = trial.expected_seconds

          def plan_in_words
            "#{stores.join(", ")}; #{pages.join(", ")}: #{protocol.processes} x fresh applications, " \
              "#{protocol.blocks} blocks x #{2 * requests} requests over #{connections} connections, about " \
              "#{Report::Format.minutes(expected_seconds)}."
          end

          def take(_comparisons)
            run.try(trial, trial.expected_seconds)
            run.table("pages", trial.rows, requests:, connections:, rails: @line || Engine::Shop::LINES.first,
                                           workers: Load::PumaServer::WORKERS, threads: Load::PumaServer::THREADS)
            run.table("memory", trial.memory.to_a, kind: Engine::ResidentMemory.kind)
            run.table("incidents", trial.incident_rows.to_a) if incidents.any?
          end

          private

          # The user chose every row, so a row that cannot run fails the command.
          def asked_in_vain?(row) = row["status"] == Engine::Outcome::CANNOT_RUN

          def incidents = @incidents ||= []
          def stores = facts_given.fetch(:stores, Design::STORES.keys)
          def pages = facts_given.fetch(:pages, Design::PAGES.keys)
          def connections = facts_given.fetch(:connections, 4)

          def requests
            facts_given.fetch(:requests, settings.quick ? QUICK_REQUESTS : REQUESTS) / connections * connections
          end

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
