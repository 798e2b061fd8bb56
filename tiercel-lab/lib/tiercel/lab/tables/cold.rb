# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # Compares reads with cold and with warm processor caches.
    module Cold
      class Table < Tables::Table
        called "cold", "Hits with cold and with warm processor caches."
        example "cold --quick", "cold --curve",
                "cold --keys 20000 --op read", "cold --value html-24kb-500 --store tiercel:shared:"
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
        # Most fragments have 2 to 8 KB.
        CURVE = %w[256B 1KB 2KB 4KB 8KB 16KB 64KB 256KB 1MB].freeze

        def options(parser)
          store_option(parser, default: STORES.join(", "))
          value_option(parser, default: QUICK_VALUES.join(","))
          parser.on("--keys A,B", Array, "numbers of keys, with Strings of 1 KB") do |texts|
            counts = texts.map { |text| cast(text, "--keys", :count) }
            (@values ||= []).concat(counts.map { |count| Values::ManyTexts.new(count:) })
          end
          parser.on("--curve", "reads of #{CURVE.first} to #{CURVE.last} with MemoryStore and shared:") do
            @values = CURVE.map { |size| Values::SizedHTML.parse(size) }
            @stores ||= parse_all(STORES.first(2))
            facts_given[:operations] ||= OPERATIONS.first(1)
          end
          names parser, "--op", OPERATIONS, :operations
        end

        # Every operation is measured twice: warm and cold.
        def plan
          values = chosen_values(settings.quick ? QUICK_VALUES : VALUES)
          comparisons_of(values, operations, @stores || parse_all(STORES))
        end

        def take(comparisons)
          super
          run.table("first touch", [{ "us" => Engine::Machine.first_touch_us }])
        end

        private

        def operations
          (facts_given[:operations] || OPERATIONS).flat_map { |name| [name, "#{name}#{SUFFIX}"] }
                                                  .map { |name| Operations.fetch(name) }
        end
      end

      # Shows the warm and cold figures of a store in one row.
      class View < Tables::View
        def title = "Reads with cold processor caches"

        def sentence
          parts = pairs.filter_map do |(value, operation), group|
            leader = leader(group.map(&:last))
            next unless leader.first
            "#{operation}, #{title_of(value)}: #{leader.span { |cell| "#{spent(cell)} (#{name(cell)})" }}"
          end
          parts.empty? ? "Nothing could be measured." : "With cold processor caches: #{parts.join("; ")}."
        end

        WORDS = "Cold: before each slice of #{Operations::CpuCold::CALLS} calls the lab reads more than the " \
                "processor's caches hold, as the rest of a request does. Warm: one call follows the other. Cold " \
                "figures leave garbage collection out."

        def fill(document)
          document.section("Warm and cold") do |section|
            section.text(WORDS)
            section.text(touch_words) if rows("first touch").any?
            curve = size_chart("Cold: a hit by size", pairs.values.flatten) do |cell|
              "#{name(cell)}, #{cold?(cell) ? "cold" : "warm"}"
            end
            section.add(curve) if curve
            pairs.each { |(value, operation), group| section.add(table(value, operation, group)) }
          end
        end

        private

        # @return [Hash{Array(String, String) => Array<Array(Hash, Hash)>}] warm and cold cells by value and operation
        def pairs
          @pairs ||= cells.reject { |cell| cold?(cell) }.filter_map { |warm| [warm, cold_of(warm)] if cold_of(warm) }
                          .group_by { |warm, _cold| warm.values_at("value", "operation") }
        end

        # The first read of a value from a segment maps the value's pages; a copy of a large value touches new memory.
        def touch_words
          us = Report::Format.number(rows("first touch").first["us"])
          "A page of 4 KB that a process touches first costs #{us} us on this machine."
        end

        def cold?(cell) = cell["operation"].end_with?(Table::SUFFIX)

        def cold_of(warm)
          cells(value: warm["value"], operation: warm["operation"] + Table::SUFFIX)
            .find { |cell| name(cell) == name(warm) }
        end

        def table(value, operation, group)
          warm = group.to_h { |pair| [pair.last, pair.first] }
          columns = { "store" => :name, "cold" => :time, "ratio, cold" => :ratio, "verdict" => :verdict,
                      "warm" => ->(cell) { time(warm[cell]) }, "ratio, warm" => ->(cell) { ratio(warm[cell]) },
                      "objects" => ->(cell) { objects(warm[cell]) } }
          cell_table("Cold: #{operation}, #{value}", group.map(&:last), columns)
        end
      end
    end
  end
end
