# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Cold
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
              pairs.each { |(value, operation), group| section.add(table(value, operation, group)) }
            end
          end

          private

          # @return [Hash{Array(String, String) => Array<Array(Hash, Hash)>}] warm and cold cells by value and operation
          def pairs
            @pairs ||= cells.reject { |cell| cold?(cell) }.filter_map { |warm| [warm, cold_of(warm)] if cold_of(warm) }
                            .group_by { |warm, _cold| warm.values_at("value", "operation") }
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
end
