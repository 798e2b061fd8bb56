# frozen_string_literal: true

require_relative "../documents/end_to_end"
require_relative "../end_to_end/design"
require_relative "../table_command"

module Tiercel
  module Lab
    module Commands
      # What the first article's conclusion does: any serializer, any compressor and any store together, and where the
      # time goes.
      class EndToEndTable < TableCommand
        called "end-to-end", "Any serializer, compressor and store together, and where the time goes."
        example "end-to-end --quick", "end-to-end",
                "end-to-end --serializer marshal,auto --compressor none,zstd --store mem_cache_store",
                "end-to-end --value rows-50", "end-to-end --plan"

        QUICK = Protocol::QUICK.vary(blocks: 2, slice_ns: 6_000_000, budget_seconds: 60)
        # Some 800 cells: to build and check them takes longer than to time them, so there are few processes, and as few
        # blocks as have a median.
        FULL = Protocol::FULL.vary(processes: 4, most_processes: 8, blocks: 2, slice_ns: 6_000_000, budget_seconds: 720)

        def self.document(results, command:) = Documents::EndToEnd.new(results, command:).build

        def options(parser)
          parser.on("--serializer A,B", Array, "of #{Serialization.names.join(", ")}") do |names|
            given[:serializers] = known(Serialization, names)
          end
          parser.on("--compressor A,B", Array, "of #{Compression.names.join(", ")}") do |names|
            given[:compressors] = known(Compression, names)
          end
          parser.on("--store STORE", "repeatable; default: #{EndToEnd::Design::STORES.join(", ")}") do |text|
            (given[:stores] ||= []) << Contestants.parse(text).text
          end
          parser.on("--value A,B", Array, "default: #{EndToEnd::Design::FULL[:values].join(", ")}") do |names|
            given[:values] = names.map { |name| Values.fetch(name) }
          end
        end

        # To build and check a cell takes longer than elsewhere: two layers, and values that are compared by content.
        SLOWER = 1.15

        def expected_seconds = super * SLOWER

        def protocol = settings.quick ? QUICK : FULL

        def plan
          given[:values] = [Values::Files.new(directory: settings.data, parse: true)] if settings.data
          EndToEnd::Design.new(quick: settings.quick, **given).comparisons
        end

        private

        def given = @given ||= {}

        def known(catalogue, names) = names.map { |name| catalogue.fetch(name).name }
      end

      add EndToEndTable
    end
  end
end
