# frozen_string_literal: true

require_relative "../../engine/resident_memory"
require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # The claim of the first article: with several workers, a shared cache beats one in each process.
      module Workers
        class Table < Tables::Table
          called "workers", "One cache for all workers, or one in each, at equal bytes."
          example "workers --quick", "workers --workers 1,2,4,8,16 --miss-ms 20",
                  "workers --total 256MB --store memory_store,tiercel:shared:",
                  "workers --store 'tiercel:shared: sqlite:',tiercel:sqlite:"
          takes :quick, :seed, :require
          in_all 20

          def options(parser)
            fact parser, "--workers A,B", "numbers of workers (1,2,4,8)", :counts, :workers
            names parser, "--store", Design::STORES, :stores
            fact parser, "--total SIZE", "for all workers together (32MB)", :total_bytes, :size
            fact parser, "--zipf S", "exponent of the load (1.0)", :zipf, :number
            fact parser, "--requests N", "of all workers together (24000)", :requests, :count
            fact parser, "--miss-ms MS", "assumed duration of a miss's block (1); no call waits", :miss_ms, :number
          end

          def plan_in_words
            "#{design.stores.join(", ")} with #{design.counts.join(", ")} workers: " \
              "#{design.rounds} x #{design.configurations.size} loads of #{design.warm_up} + #{design.requests} " \
              "requests, about #{Report::Format.minutes(design.expected_seconds)}."
          end

          def take(_comparisons)
            run.table("workers", tried(Trial).rows, **design.to_h, items: design.items,
                                                                   memory: Engine::ResidentMemory.kind)
          end

          # @return [Design]
          def design
            @design ||= designed(Design, stores: facts_given[:stores]&.then { |stores| Design.controlled(stores) })
          end
        end
      end

      add Workers::Table
    end
  end
end
