# frozen_string_literal: true

require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # Compares reads with cold and with warm processor caches.
      module Cold
        class Table < Tables::Table
          called "cold", "Hits with cold and with warm processor caches."
          example "cold --quick", "cold --keys 20000 --op read", "cold --value html-24kb-500 --store tiercel:shared:"
          takes :quick, :seed, :cells
          in_all 75
          # A slice has few calls, so there are more blocks.
          full processes: 6, most_processes: 12, blocks: 40, budget_seconds: 300
          quick blocks: 16, budget_seconds: 100

          STORES = %w[memory_store tiercel:shared: tiercel:memory:].freeze
          # The cold form of an operation is called NAME_cpu_cold.
          OPERATIONS = %w[read fetch read_multi].freeze
          SUFFIX = "_cpu_cold"
          VALUES = %w[string-1kb-2000 html-2kb-2000 html-24kb-500].freeze
          QUICK_VALUES = VALUES.first(1)

          def options(parser)
            store_option(parser, default: STORES.join(", "))
            value_option(parser, default: QUICK_VALUES.join(","))
            parser.on("--keys A,B", Array, "numbers of keys, with Strings of 1 KB") do |texts|
              counts = texts.map { |text| cast(text, "--keys", :count) }
              (@values ||= []).concat(counts.map { |count| Values::ManyTexts.new(count:) })
            end
            names parser, "--op", OPERATIONS, :operations
          end

          # Every operation is measured twice: warm and cold.
          def plan
            values = chosen_values(settings.quick ? QUICK_VALUES : VALUES)
            comparisons_of(values, operations, @stores || parse_all(STORES))
          end

          private

          def operations
            (facts_given[:operations] || OPERATIONS).flat_map { |name| [name, "#{name}#{SUFFIX}"] }
                                                    .map { |name| Operations.fetch(name) }
          end
        end
      end

      add Cold::Table
    end
  end
end
