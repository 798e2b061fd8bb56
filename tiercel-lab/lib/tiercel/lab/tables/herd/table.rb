# frozen_string_literal: true

require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # A stampede: many callers fetch one missing or expired key at the same moment.
      module Herd
        class Table < Tables::Table
          called "herd", "Stampedes: how often the block of one missing key runs."
          example "herd --quick", "herd --threads 25 --processes 8 --block-ms 1000",
                  "herd --store redis_cache_store --store tiercel:redis:"
          takes :quick, :seed, :require

          # A process that does not answer for minutes counts as lost.
          MOST_MS = 60_000

          def options(parser)
            store_option(parser, default: "Rails' and Tiercel's")
            fact parser, "--threads N", "of each process (10; quick 5)", :threads, :count
            fact parser, "--processes N", "(4; quick 2)", :processes, :count
            fact parser, "--block-ms MS", "duration of the block (200; quick 100)", :block_ms, :number
            fact parser, "--rounds N", "with a fresh key each (5; quick 2)", :rounds, :count
          end

          def plan_in_words
            "#{design.processes} processes x #{design.threads} threads fetch one key at once, whose block takes " \
              "#{Report::Format.number(design.block_ms)} ms, from #{design.stores.join(", ")}; #{design.rounds} " \
              "rounds, about #{Report::Format.minutes(design.expected_seconds)}."
          end

          def take(_comparisons) = run.table("herd", tried(Trial).rows, **design.to_h)

          # @return [Design]
          def design = @design ||= designed(Design, stores: @stores&.map(&:text))

          def accept(rest)
            super
            return if design.block_ms <= MOST_MS
            raise UsageError, "--block-ms #{design.block_ms.round}: expected at most #{MOST_MS}"
          end
        end
      end

      add Herd::Table
    end
  end
end
