# frozen_string_literal: true

require_relative "../../engine/resident_memory"
require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # How time and memory grow with the number of entries, their size, and the processes that ask.
      module Growth
        class Table < Tables::Table
          called "growth", "Time and memory by entries, sizes and processes."
          example "growth --quick", "growth --entries 1000,1000000 --size 1KB,1MB",
                  "growth --store tiercel:shared: --workers 1,2,4,8,16"
          takes :quick, :seed, :require

          def options(parser)
            names parser, "--store", Design::STORES, :stores
            fact parser, "--entries A,B", "numbers of entries (1000 to 10000000)", :entries, :count
            parser.on("--most-entries N", "leave out larger numbers") do |text|
              @most = cast(text, "--most-entries", :count)
            end
            fact parser, "--entry-size SIZE", "of the values where entries grow (100B)", :entry_bytes, :size
            fact parser, "--size A,B", "of values (100B to 1MB)", :sizes, :size
            fact parser, "--workers A,B", "concurrent processes (1,2,4,8)", :processes, :workers
            fact parser, "--rounds N", "with fresh processes (2; quick 1)", :rounds, :count
          end

          def plan_in_words
            "#{design.stores.join(", ")}: by entries (#{design.entries.join(", ")}), by bytes " \
              "(#{design.sizes.join(", ")}), by processes (#{design.processes.join(", ")}); #{design.rounds} x " \
              "#{design.configurations(0).size} fillings, about #{Report::Format.minutes(design.expected_seconds)}. " \
              "What the machine has no room for is left out when it comes to it."
          end

          def take(_comparisons)
            run.table("growth", tried(Trial).rows, **design.to_h, crowd_entries: Design::CROWD_ENTRIES,
                                                   crowd_bytes: Design::CROWD_BYTES,
                                                   memory: Engine::ResidentMemory.kind)
          end

          # @return [Design] a factor that the user names is measured alone
          def design
            @design ||= begin
              factors = %i[entries sizes processes]
              others = factors.to_h { |name| [name, facts_given[name].to_a] } if facts_given.keys.intersect?(factors)
              chosen = designed(Design, **others.to_h)
              @most ? chosen.with(entries: chosen.entries.select { |entries| entries <= @most }) : chosen
            end
          end
        end
      end

      add Growth::Table
    end
  end
end
