# frozen_string_literal: true

require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # The tables of the fifth article: caches on SQLite by the size of the value, with one process and with two.
      module Sqlite
        # The values and stores to measure with one process, and with two. There are `processes` pairs of fresh
        # processes, with `rounds` of `seconds` each.
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
          # Every process starts four bundles. Two processes would leave references that are 20 times as slow undecided.
          full processes: 4, most_processes: 8, blocks: 4, budget_seconds: 180

          OPERATIONS = %w[write read].freeze
          BASELINE = "litecache"
          # The stores with their own pragmas and with equal ones. The last three do not use SQLite; they are
          # references. Redis is the first of them, because the first has the null arm of all servers, and PostgreSQL's
          # writes are much noisier.
          STORES = %w[litecache litecache:equal solid_cache_store tiercel:sqlite: tiercel:sqlite:#synchronous=:off
                      redis_cache_store mem_cache_store solid_cache_store:postgresql].freeze
          # All sizes of the article, with one process and with two.
          FULL = Design.new(values: %w[string-10b string-100b string-1000b string-10000b], stores: STORES,
                            shared_values: %w[string-100b string-10000b], shared_stores: STORES, processes: 3,
                            rounds: 3, seconds: 0.3)
          # Two sizes with one process, and one of them with two processes.
          QUICK = FULL.with(values: %w[string-100b string-10000b],
                            stores: STORES - %w[tiercel:sqlite:#synchronous=:off],
                            shared_values: %w[string-10000b], processes: 2, seconds: 0.25,
                            shared_stores: %w[litecache litecache:equal solid_cache_store tiercel:sqlite:
                                              redis_cache_store])

          def options(parser)
            store_option(parser, default: "eight, see `lab sqlite --plan`")
            value_option(parser)
            parser.on("--baseline STORE", "baseline of the ratios (#{BASELINE})") do |text|
              @baseline = Contestants.parse(text).text
            end
          end

          def plan
            contestants = parse_all([baseline, *(design.stores - [baseline])])
            comparisons_of(design.values.map { |name| Values.fetch(name) },
                        OPERATIONS.map { |name| Operations.fetch(name) }, contestants)
          end

          def plan_in_words
            "Two processes at once: #{design.shared_stores.size} stores, #{design.shared_values.join(", ")}, " \
              "about #{Report::Format.minutes(design.expected_seconds)}; one process:"
          end

          def take(comparisons)
            super
            run.table("two processes", tried(Contention).rows, **design.to_h.slice(:processes, :rounds, :seconds))
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
