# frozen_string_literal: true

require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # The conclusion of the first article: every serializer, compressor and store together, and where the time goes.
      module EndToEnd
        class Table < Tables::Table
          called "end-to-end", "Serializer, compressor and store together: where time goes."
          example "end-to-end --quick", "end-to-end",
                  "end-to-end --serializer marshal,auto --compressor none,zstd --store mem_cache_store",
                  "end-to-end --value rows-50"
          takes :quick, :seed, :cells, :data
          in_all 50
          # There are about 800 cells, and building and checking them takes longer than timing them. So there are few
          # processes, and only two blocks.
          quick processes: 6, blocks: 2, slice_ns: 6_000_000, budget_seconds: 60
          full processes: 4, most_processes: 8, blocks: 2, slice_ns: 6_000_000, budget_seconds: 720

          # Building and checking a cell takes longer than in other tables: it has two more layers and compares values
          # by content.
          SLOWER = 1.15

          def options(parser)
            things parser, "--serializer", Serialization, :serializers, "see `help serializers`"
            things parser, "--compressor", Compression, :compressors, "see `help compressors`"
            store_option(parser, default: Design::STORES.join(", "))
            value_option(parser, default: Design::VALUES.join(", "))
          end

          def expected_seconds = super * SLOWER

          def plan
            values = settings.data ? chosen_values([], parse: true) : @values
            named = facts_given.transform_values { |things| things.map(&:name) }
            Design.new(quick: settings.quick, **named, **{ stores: @stores&.map(&:text), values: }.compact).comparisons
          end
        end
      end

      add EndToEnd::Table
    end
  end
end
