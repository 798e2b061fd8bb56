# frozen_string_literal: true

require_relative "../table"
require_relative "contention"
require_relative "view"

module Tiercel
  module Lab
    module Tables
      # The fifth article's tables: caches on SQLite, by the size of the value, alone and two processes at once.
      module Sqlite
        # The measured values and stores: alone, and shared by two processes, in `processes` pairs of fresh
        # processes, `rounds` of `seconds` each.
        Design = Data.define(:values, :stores, :shared_values, :shared_stores, :processes, :rounds, :seconds) do
          def expected_seconds
            turns = Contention::OPERATIONS.size * rounds
            processes * shared_stores.size * shared_values.size *
              (Contention::OPEN_SECONDS + (turns * (seconds + Contention::START_SECONDS)))
          end
        end

        class Table < Tables::Table
          called "sqlite", "Caches on SQLite: writes and reads a second by size."
          example "sqlite --quick", "sqlite --value string-10b,string-10000b --store litecache --store tiercel:sqlite:",
                  "sqlite --baseline solid_cache_store", "sqlite --markdown"
          in_all 100
          # Four bundles are started for each process.
          quick processes: 2
          full processes: 4, most_processes: 8, blocks: 4, budget_seconds: 180

          OPERATIONS = %w[write read].freeze
          BASELINE = "litecache"
          # As they ship, and with equal pragmas; the last two are no SQLite and stand for reference.
          STORES = %w[litecache litecache:equal solid_cache_store solid_cache_store:postgresql tiercel:sqlite:
                      tiercel:sqlite:#synchronous=:off redis_cache_store mem_cache_store].freeze
          # The article's sizes, a process of its own and two at once.
          FULL = Design.new(values: %w[string-10b string-100b string-1000b string-10000b], stores: STORES,
                            shared_values: %w[string-100b string-10000b], shared_stores: STORES, processes: 3,
                            rounds: 3, seconds: 0.3)
          # Two sizes, and two processes with one of them.
          QUICK = FULL.with(values: %w[string-100b string-10000b],
                            stores: STORES - %w[tiercel:sqlite:#synchronous=:off],
                            shared_values: %w[string-10000b], processes: 2, seconds: 0.25,
                            shared_stores: %w[litecache litecache:equal solid_cache_store tiercel:sqlite:
                                              redis_cache_store])

          def options(parser)
            store_option(parser, default: "eight, see `lab sqlite --plan`")
            value_option(parser)
            parser.on("--baseline STORE", "what ratios are to (#{BASELINE})") do |text|
              @baseline = Contestants.parse(text).text
            end
          end

          def plan
            contestants = parse_all([baseline, *(design.stores - [baseline])])
            design.values.product(OPERATIONS).map do |value, operation|
              Engine::Comparison.of(value: Values.fetch(value), operation: Operations.fetch(operation), contestants:)
            end
          end

          def plan_in_words
            "Two processes at once: #{design.shared_stores.size} stores, #{design.shared_values.join(", ")}, " \
              "about #{Report::Format.minutes(design.expected_seconds)}; one process:"
          end

          def expected_seconds = design.expected_seconds + super.to_f

          def take(comparisons)
            super
            contention = Contention.new(design, seed: settings.seed, requires: settings.requires)
            run.try(contention, design.expected_seconds)
            run.table("two processes", contention.rows, processes: design.processes, rounds: design.rounds,
                                                        seconds: design.seconds)
          end

          # @return [Design]
          def design
            @design ||= begin
              stores, values = @stores&.map(&:text), @values&.map(&:name)
              chosen = { values:, shared_values: values && [values.last], stores:,
                         shared_stores: stores && [baseline, *stores].uniq }
              (settings.quick ? QUICK : FULL).with(**chosen.compact)
            end
          end

          private

          def baseline = @baseline || BASELINE
        end
      end

      add Sqlite::Table
    end
  end
end
