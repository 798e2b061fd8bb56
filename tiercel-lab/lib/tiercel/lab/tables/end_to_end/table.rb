# frozen_string_literal: true

require_relative "../table"
require_relative "design"
require_relative "operations"
require_relative "stores"
require_relative "view"

module Tiercel
  module Lab
    module Tables
      # The first article's conclusion: any serializer, any compressor and any store together, and where the
      # time goes.
      module EndToEnd
        class Table < Tables::Table
          called "end-to-end", "Serializer, compressor and store together: where time goes."
          example "end-to-end --quick", "end-to-end",
                  "end-to-end --serializer marshal,auto --compressor none,zstd --store mem_cache_store",
                  "end-to-end --value rows-50"
          takes :quick, :seed, :cells, :data
          in_all 50
          # Some 800 cells: to build and check them takes longer than to time them, so there are few processes, and as
          # few blocks as have a median.
          quick blocks: 2, slice_ns: 6_000_000, budget_seconds: 60
          full processes: 4, most_processes: 8, blocks: 2, slice_ns: 6_000_000, budget_seconds: 720

          # To build and check a cell takes longer than elsewhere: two layers, and values that are compared by content.
          SLOWER = 1.15

          def options(parser)
            parser.on("--serializer A,B", Array, "see `help serializers`") do |names|
              @serializers = known(Serialization, names)
            end
            parser.on("--compressor A,B", Array, "see `help compressors`") do |names|
              @compressors = known(Compression, names)
            end
            store_option(parser, default: Design::STORES.join(", "))
            value_option(parser, default: Design::VALUES.join(", "))
          end

          def expected_seconds = super * SLOWER

          def plan
            values = settings.data ? chosen_values([], parse: true) : @values
            given = { serializers: @serializers, compressors: @compressors, stores: @stores&.map(&:text), values: }
            Design.new(quick: settings.quick, **given.compact).comparisons
          end
        end
      end

      add EndToEnd::Table
    end
  end
end
