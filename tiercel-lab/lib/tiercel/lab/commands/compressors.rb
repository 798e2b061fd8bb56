# frozen_string_literal: true

require_relative "../compression"
require_relative "../documents/compressors"
require_relative "../table_command"

module Tiercel
  module Lab
    module Commands
      # The first article's tables of compressors: bytes, and speed both ways.
      class Compressors < TableCommand
        called "compressors",
               "How small and how fast compressors are, both ways, on marshalled records, HTML, JSON and noise."
        example "compressors --quick", "compressors", "compressors --data storage/fragments",
                "compressors --compressor zstd#level=1 --compressor zstd#level=9 --value html-10kb",
                "compressors --plan"

        ARTICLE_VALUE = "books-dump-1mb"
        # The quick form: one size of each content, the default levels, fewer and shorter blocks.
        QUICK_VALUES = [ARTICLE_VALUE, "html-10kb", "json-1kb", "noise-10kb"].freeze
        SIZES = %w[100b 1kb 10kb 100kb 1mb].freeze
        VALUES = [ARTICLE_VALUE, *%w[html json noise].product(SIZES).map { |pair| pair.join("-") }].freeze
        # Levels that take seconds for a megabyte are measured on payloads up to so many bytes.
        SLOW_LEVELS = { "brotli" => 10, "zstd" => 19 }.freeze
        SLOW_MOST_BYTES = 16 * 1024
        QUICK = Protocol::QUICK.vary(blocks: 3, slice_ns: 6_000_000, budget_seconds: 60)
        # Hundreds of cells, whose differences are large: fewer and shorter blocks, wider intervals.
        FULL = Protocol::FULL.vary(processes: 4, most_processes: 8, blocks: 3, slice_ns: 8_000_000, budget_seconds: 420)

        def self.document(results, command:) = Documents::Compressors.new(results, command:).build

        def options(parser)
          parser.on("--compressor A,B", Array, "of #{Compression.names.join(", ")};",
                    "zstd#level=3; default: all with their levels (quick: default levels)") do |names|
            compressors.concat(names.map { |name| contestant(name) })
          end
          parser.on("--value A,B", Array, "default: #{ARTICLE_VALUE}, and html, json, noise",
                    "from 100b to 1mb (html-10kb); any value of the lab") do |names|
            values.concat(names.map { |name| Values.fetch(name) })
          end
        end

        def protocol = settings.quick ? QUICK : FULL

        def plan
          chosen_values.flat_map do |value|
            contestants = chosen_compressors.reject { |compressor| too_slow?(compressor, value) }
            %w[deflate inflate].map do |operation|
              Comparison.of(value:, operation: Operations.fetch(operation), contestants:, baseline:)
            end
          end
        end

        private

        def compressors = @compressors ||= []
        def values = @values ||= []

        def contestant(text) = Contestants.parse("compressor:#{text}")

        def baseline = chosen_compressors.first

        def chosen_values
          return [Values::Files.new(directory: settings.data), *values] if settings.data
          values.any? ? values : (settings.quick ? QUICK_VALUES : VALUES).map { |name| Values.fetch(name) }
        end

        # The baseline first; it is the same on every value.
        def chosen_compressors
          @chosen_compressors ||= begin
            chosen = compressors.any? ? compressors : every
            [contestant(Compression::BASELINE), *chosen].uniq(&:name)
          end
        end

        def every
          Compression.all.flat_map do |library|
            levels = settings.quick ? [] : library.levels - [library.default]
            [contestant(library.name), *levels.map { |level| contestant("#{library.name}#level=#{level}") }]
          end
        end

        # What the user asks for by name is measured on everything.
        def too_slow?(compressor, value)
          level = compressor.options[:level] or return false
          slow = SLOW_LEVELS[compressor.place] or return false
          compressors.empty? && level >= slow && value.approximate_bytes > SLOW_MOST_BYTES
        end
      end

      add Compressors
    end
  end
end
