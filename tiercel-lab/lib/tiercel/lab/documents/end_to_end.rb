# frozen_string_literal: true

require_relative "table"
require_relative "../end_to_end/design"
require_relative "../end_to_end/split"
require_relative "../values"

module Tiercel
  module Lab
    module Documents
      # Serializer x compressor x store: for each value and way a table, a heatmap for each store, and where the time
      # goes.
      class EndToEnd < Table
        HEADER = ["store", "serializer", "compressor", "time", "ratio", "bytes", *Lab::EndToEnd::Split::PARTS].freeze
        WAYS = { "end_to_end_read" => "reads", "end_to_end_write" => "writes" }.freeze

        def title = "End to end: serializer, compressor and store together"

        def fill(document)
          document.verdict(sentence, floor: worst_floor, warnings:)
          groups.each { |(value, operation), wholes| add(document, value, operation, wholes) }
        end

        private

        def groups
          @groups ||= cells.select { |cell| WAYS.key?(cell["operation"]) }.group_by do |cell|
            cell.values_at("value", "operation")
          end
        end

        def sentence
          (value, operation), wholes = groups.find { |_key, found| found.any? { |cell| measured?(cell) } }
          return "Nothing could be measured." unless value
          first = wholes.find { |cell| measured?(cell) }
          best = leader(wholes).to_s { |cell| "#{words(cell)} (#{spent(cell)})" }
          "#{title_of(value)}, #{WAYS.fetch(operation)}: #{best}; #{words(first)}, which is what Rails does unasked, " \
            "takes #{spent(first)}#{share(first)}."
        end

        def words(cell) = cell["contestant"].values_at("store", "serializer", "compressor").join(" + ")

        def share(cell)
          parts = split(cell).us or return ""
          own = parts.values_at("serialize", "compress").sum
          format(", %d %% of it in serializer and compressor", 100.0 * own / microseconds(cell))
        end

        def add(document, value, operation, wholes)
          document.section("#{title_of(value)}: #{WAYS.fetch(operation)}") do |section|
            section.text(method_text) if groups.keys.first == [value, operation]
            section.add(table(value, operation, wholes))
            wholes.group_by { |cell| cell["contestant"]["store"] }.each do |store, of_store|
              chart = heatmap(value, operation, store, of_store) and section.add(chart)
            end
            section.add(bars(value, operation, wholes)) if wholes.any? { |cell| measured?(cell) }
          end
        end

        def method_text
          "#{reach}`serialize` and `compress` were measured alone on the same values; `wire` and `server` are the " \
            "same bytes through a raw socket, of which `server` is CPU time of the server's process; `client` is the " \
            "CPU time that is left of the whole call, and where the store is in this process, the store."
        end

        # What was varied, and how.
        def reach
          base = words(groups.values.first.first)
          return "The quick form varies one factor at a time from #{base}, on one value. " if quick?
          product = groups.values.map(&:size).max
          short = groups.select { |_key, wholes| wholes.size < product }.map { |(value, _), _| title_of(value) }.uniq
          return "" if short.empty?
          "All combinations are measured on #{title_of(groups.keys.first.first)}; on #{short.join(", ")} one factor " \
            "is varied at a time from #{base}. "
        end

        def table(value, operation, wholes)
          title = "End to end: #{WAYS.fetch(operation)}, #{title_of(value)}"
          table = Report::Table.new(title, header: HEADER, command:,
                                    note: "Microseconds a call; ratios are to the first row of the same comparison.")
          wholes.each do |cell|
            who = cell["contestant"].values_at("store", "serializer", "compressor")
            table.row(*who, *figures(cell))
            table.raw(words(cell), block_us(cell), unit: "us") if measured?(cell)
          end
          table
        end

        def figures(cell)
          return [missing(cell), *[""] * (HEADER.size - 4)] unless measured?(cell)
          [time(cell), ratio(cell), cell.dig("exact", "stored_bytes"), *parts_of(split(cell))]
        end

        def parts_of(split)
          parts = split.us
          Lab::EndToEnd::Split::PARTS.map do |part|
            parts ? Report::Cell.number(parts[part], unit: "us") : Report::Cell.missing("cannot split: #{split.reason}")
          end
        end

        def heatmap(value, operation, store, cells)
          return if cells.size < 3
          serializers, compressors = %w[serializer compressor].map do |axis|
            cells.map { |cell| cell["contestant"][axis] }.uniq
          end
          chart = Report::Charts::Heatmap.new("End to end: #{WAYS.fetch(operation)} by #{store}, #{title_of(value)}",
                                              rows: serializers, columns: compressors, unit: "us",
                                              row_name: "serializer", column_name: "compressor")
          cells.each do |cell|
            row, column = cell["contestant"].values_at("serializer", "compressor")
            figure = measured?(cell) ? Report::Cell.number(microseconds(cell)) : missing(cell)
            chart.set(row, column, figure)
          end
          chart
        end

        def bars(value, operation, wholes)
          chart = Report::Charts::StackedBar.new("End to end: where the time of #{WAYS.fetch(operation)} goes, " \
                                                 "#{title_of(value)}",
                                                 unit: "us", parts: Lab::EndToEnd::Split::PARTS)
          wholes.each do |cell|
            next chart.missing(words(cell), cell["reason"].to_s) unless measured?(cell)
            split = split(cell)
            parts = split.us
            parts ? chart.row(words(cell), parts) : chart.missing(words(cell), "cannot split: #{split.reason}")
          end
          chart
        end

        def split(cell)
          same_value = results["cells"].select { |other| other["value"] == cell["value"] }
          Lab::EndToEnd::Split.new(cell, same_value, cell["operation"])
        end
      end
    end
  end
end
