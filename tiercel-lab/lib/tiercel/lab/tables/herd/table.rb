# frozen_string_literal: true

require_relative "../table"
require_relative "design"
require_relative "trial"
require_relative "view"

module Tiercel
  module Lab
    module Tables
      # A stampede: everybody asks for one key that is not there, or has ended, at the same moment.
      module Herd
        class Table < Tables::Table
          called "herd", "How often a block runs when everybody asks for one key."
          example "herd --quick", "herd --threads 25 --processes 8 --block-ms 1000",
                  "herd --store redis_cache_store --store tiercel:redis:"
          takes :quick, :seed, :require

          # A process that does not answer for some minutes is given up.
          MOST_MS = 60_000

          def options(parser)
            store_option(parser, default: "Rails' and Tiercel's")
            parser.on("--threads N", "of each process (10; quick 5)") { |text| @threads = count(text, "--threads") }
            parser.on("--processes N", "(4; quick 2)") { |text| @processes = count(text, "--processes") }
            parser.on("--block-ms MS", "what the block takes (200; quick 100)") do |text|
              @block_ms = number(text, "--block-ms")
              raise UsageError, "--block-ms #{text}: expected at most #{MOST_MS}" if @block_ms > MOST_MS
            end
            parser.on("--rounds N", "with a fresh key each (5; quick 2)") { |text| @rounds = count(text, "--rounds") }
          end

          def expected_seconds = design.expected_seconds

          def plan_in_words
            "#{design.processes} processes x #{design.threads} threads fetch one key at once, whose block takes " \
              "#{Report::Format.number(design.block_ms)} ms, from #{design.stores.join(", ")}; #{design.rounds} " \
              "rounds, about #{Report::Format.minutes(design.expected_seconds)}."
          end

          def take(_comparisons)
            trial = Trial.new(design, seed: settings.seed, requires: settings.requires)
            run.try(trial, design.expected_seconds)
            run.table("herd", trial.rows, **design.to_h)
          end

          # @return [Design]
          def design
            @design ||= begin
              given = { stores: @stores&.map(&:text), threads: @threads, processes: @processes, block_ms: @block_ms,
                        rounds: @rounds }
              (settings.quick ? Design::QUICK : Design::FULL).with(**given.compact)
            end
          end

          private

          def count(text, option)
            count = number(text, option)
            return count.to_i if count == count.floor
            raise UsageError, "#{option} #{text}: expected a whole number"
          end
        end
      end

      add Herd::Table
    end
  end
end
