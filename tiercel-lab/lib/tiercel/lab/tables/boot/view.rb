# frozen_string_literal: true

require_relative "../../engine/paired"
require_relative "../view"
require_relative "design"

module Tiercel
  module Lab
    module Tables
      module Boot
        # CPU time, memory and files of each store, and their ratios to the baseline's.
        class View < Tables::View
          HEADER = ["store", "CPU time", "by #{Design::BASELINE}'s", "memory", "by #{Design::BASELINE}'s ",
                    "files"].freeze
          MEGABYTE = 1024.0 * 1024
          WORDS = "From `lookup_store` to the first read, in a fresh process that has loaded `active_support/cache`. " \
                  "Memory is what its resident set grew by. Files are what it required for the store."

          def title = "What a store costs at boot"

          def quick_words = quick? ? ["Quick: fewer stores and processes."] : []

          def sentence
            ours, baseline = %w[tiercel:shared: redis_cache_store].map { |store| of(store) }
            return "Nothing could be measured." if stores.none? { |store| of(store).any? }
            return "The first read follows after #{spent(stores.find { |store| of(store).any? })}." if
              ours.empty? || baseline.empty?
            "A process has its first read of shared: after #{spent("tiercel:shared:")} of CPU time, of " \
              "#{Design::BASELINE} after #{spent(Design::BASELINE)}."
          end

          def fill(document)
            return if rows("boot").empty?
            document.section("Boot") do |section|
              section.text(WORDS)
              section.table("Boot: until the first read", header: HEADER, command:) do |table|
                stores.each { |store| of(store).empty? ? failed(table, store) : measured_row(table, store) }
              end
            end
          end

          private

          def stores = rows("boot").map { |row| row["store"] }.uniq.sort_by { |store| Design::STORES.keys.index(store) }

          # @return [Array<Hash>] rows of a store that were measured
          def of(store)
            rows("boot").select { |row| row["store"] == store && row["status"] == Engine::Outcome::MEASURED }
          end

          def spent(store) = Report::Format.with_unit(median(store, "cpu_ms").estimate, "ms")

          def measured_row(table, store)
            table.row(store, Report::Cell.interval(median(store, "cpu_ms"), unit: "ms"), ratio(store, "cpu_ms"),
                      Report::Cell.interval(median(store, "bytes", MEGABYTE), unit: "MB"), ratio(store, "bytes"),
                      Report::Cell.count(of(store).map { |row| row["files"] }.max))
          end

          def failed(table, store)
            row = rows("boot").find { |one| one["store"] == store }
            table.row(store, Report::Cell.missing(Engine::Outcome.words(row)), "", "", "", "")
          end

          def median(store, figure, unit = 1.0)
            Statistics::MedianInterval.of(of(store).map { |row| [row[figure] / unit] })
          end

          # Memory may not grow at all; such rounds have no ratio.
          def ratio(store, figure)
            return "baseline" if store == Design::BASELINE
            found = Engine::Paired.ratio(*[store, Design::BASELINE].map { |one| by_round(one, figure) })
            found ? Report::Cell.interval(found, unit: "x") : ""
          end

          def by_round(store, figure)
            of(store).select { |row| row[figure].positive? }.to_h { |row| [row["round"], { 0 => row[figure].to_f }] }
          end
        end
      end
    end
  end
end
