# frozen_string_literal: true

require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # The cost of a store until the first read of a process.
      module Boot
        class Table < Tables::Table
          called "boot", "CPU time, memory and files of a store until its first read."
          example "boot --quick", "boot --store redis_cache_store,tiercel:shared: --rounds 40"
          takes :quick, :seed
          in_all 25

          def options(parser)
            names parser, "--store", Design::STORES, :stores
            fact parser, "--rounds N", "fresh processes of each store (20; quick 8)", :rounds, :count
          end

          def plan_in_words
            "#{design.stores.join(", ")}: each boots in #{design.rounds} fresh processes, in turn; about " \
              "#{Report::Format.minutes(design.expected_seconds)}."
          end

          def take(_comparisons) = run.table("boot", tried(Trial).rows, **design.to_h)

          # @return [Design]
          def design = @design ||= designed(Design)
        end
      end

      add Boot::Table
    end
  end
end
