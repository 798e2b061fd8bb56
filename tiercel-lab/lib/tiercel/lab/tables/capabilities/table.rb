# frozen_string_literal: true

require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # The table of stores of the first article. Every mark is the result of a test of the store.
      module Capabilities
        class Table < Tables::Table
          called "capabilities", "Tests whether each store serializes, compresses and shares."
          example "capabilities", "capabilities --quick",
                  "capabilities --store tiercel:shared: --store memory_store",
                  "capabilities --store 'tiercel:shared: redis:'"
          takes :quick, :require
          in_all 10

          STORES = ["memory_store", "file_store:disk", "mem_cache_store", "redis_cache_store", "solid_cache_store",
                    "solid_cache_store:postgresql", "litecache", "tiercel:memory:", "tiercel:shared:", "tiercel:file:",
                    "tiercel:sqlite:", "tiercel:memcached:", "tiercel:redis:", "tiercel:shared: sqlite:",
                    "tiercel:shared: redis:"].freeze
          BLOCKS = 15
          QUICK_BLOCKS = 7

          def options(parser) = store_option(parser, default: "all of the lab's")

          def plan_in_words
            "#{chosen.size} stores are asked by two processes each, in about #{expected_seconds.round} s: " \
            "#{chosen.join(", ")}."
          end

          def expected_seconds = chosen.size * Examination::SECONDS

          def take(_comparisons)
            examination = Examination.new(chosen, blocks: settings.quick ? QUICK_BLOCKS : BLOCKS, seed: settings.seed,
                                                  requires: settings.requires)
            run.try(examination, expected_seconds)
            run.table("capabilities", examination.rows) if examination.rows.any?
          end

          private

          def chosen = @stores&.map(&:text) || STORES
        end
      end

      add Capabilities::Table
    end
  end
end
