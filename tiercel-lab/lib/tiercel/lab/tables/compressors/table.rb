# frozen_string_literal: true

require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # The tables of compressors of the first article: bytes, and the speed of compressing and decompressing.
      module Compressors
        ARTICLE_VALUE = "books-dump-1mb"

        class Table < Tables::Table
          called "compressors", "Compressed bytes, and the speed in both directions."
          example "compressors --quick", "compressors", "compressors --data storage/fragments",
                  "compressors --compressor zstd#level=1,zstd#level=9 --value html-10kb"
          takes :quick, :seed, :cells, :data
          in_all 30
          # There are hundreds of cells with large differences, so few and short blocks are enough.
          quick blocks: 3, slice_ns: 6_000_000, budget_seconds: 60
          full processes: 4, most_processes: 8, blocks: 3, slice_ns: 8_000_000, budget_seconds: 420

          # A quick run measures one size of each content, at the default levels.
          QUICK_VALUES = [ARTICLE_VALUE, "html-10kb", "json-1kb", "noise-10kb"].freeze
          SIZES = %w[100b 1kb 10kb 100kb 1mb].freeze
          # Noise has one size, because no size of it can be compressed.
          VALUES = [ARTICLE_VALUE, *%w[html json].product(SIZES).map { |pair| pair.join("-") }, "noise-10kb"].freeze
          # These levels take seconds for a megabyte, so only payloads up to SLOW_MOST_BYTES use them.
          SLOW_LEVELS = { "brotli" => 10, "zstd" => 19 }.freeze
          SLOW_MOST_BYTES = 16 * 1024

          def options(parser)
            parser.on("--compressor A,B", Array,
                      "see `help compressors`; zstd#level=3 (all with their levels; quick: " \
                                                 "default levels)") do |names|
              (@compressors ||= []).concat(names.map { |name| contestant(name) })
            end
            value_option(parser, default: "#{ARTICLE_VALUE}, noise-10kb, and html, json from 100b to 1mb")
          end

          def plan
            chosen_values(settings.quick ? QUICK_VALUES : VALUES).flat_map do |value|
              contestants = compressors.reject { |compressor| too_slow?(compressor, value) }
              %w[deflate inflate].map do |operation|
                Engine::Comparison.of(value:, operation: Operations.fetch(operation), contestants:)
              end
            end
          end

          private

          def contestant(text) = Contestants.parse("compressor:#{text}")

          # The baseline comes first and is the same for every value.
          def compressors
            @chosen ||= [contestant(Compression::BASELINE), *(@compressors || every)].uniq(&:name)
          end

          def every
            Compression.all.flat_map do |library|
              levels = settings.quick ? [] : library.levels - [library.default]
              [contestant(library.name), *levels.map { |level| contestant("#{library.name}#level=#{level}") }]
            end
          end

          # Levels that the user names are measured on every value.
          def too_slow?(compressor, value)
            level = compressor.options[:level] or return false
            slow = SLOW_LEVELS[compressor.place] or return false
            @compressors.nil? && level >= slow && value.approximate_bytes > SLOW_MOST_BYTES
          end
        end
      end

      add Compressors::Table
    end
  end
end
