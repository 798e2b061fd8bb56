# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module EndToEnd
        # Shows every combination of serializer, compressor and store, and where the
        # time goes: a table for each value and operation.
        class View < Tables::View
          article(/\AEnd to end: /)

          WAYS = { "end_to_end_read" => "reads", "end_to_end_write" => "writes" }.freeze

          def title = "End to end: serializer, compressor and store together"

          def sentence
            (value, operation), wholes = first_measured
            return "Nothing could be measured." unless value
            best = leader(wholes).to_s { |cell| "#{words(cell)} (#{spent(cell)})" }
            first = wholes.find { |cell| measured?(cell) }
            "#{title_of(value)}, #{WAYS.fetch(operation)}: #{best}; #{words(first)}, which is what Rails does " \
              "unasked, takes #{spent(first)}#{share(first)}."
          end

          def findings
            groups.filter_map do |(value, operation), wholes|
              leader = leader(wholes)
              next unless leader.clear?
              Finding.new("#{title_of(value)}, #{WAYS.fetch(operation)}: #{words(leader.first)} is the fastest " \
                          "(#{spent(leader.first)}).", heading(value, operation))
            end
          end

          def fill(document)
            groups.each { |(value, operation), wholes| add(document, value, operation, wholes) }
          end

          # Which factors varied.
          #
          # @return [String]
          def reach
            base = words(groups.values.first.first)
            if quick?
              return "The quick form varies one factor at a time from #{base}, on one value, and has what the first " \
                     "article advises. "
            end
            product = groups.values.map(&:size).max
            short = groups.select { |_key, wholes| wholes.size < product }.map { |(value, _), _| title_of(value) }.uniq
            return "" if short.empty?
            "All combinations are measured on #{title_of(groups.keys.first.first)}; on #{short.join(", ")} one " \
              "factor is varied at a time from #{base}. "
          end

          private

          def groups
            @groups ||= cells.select { |cell| WAYS.key?(cell["operation"]) }.group_by do |cell|
              cell.values_at("value", "operation")
            end
          end

          def first_measured = groups.find { |_key, found| found.any? { |cell| measured?(cell) } }

          def words(cell) = cell["contestant"].values_at("store", "serializer", "compressor").join(" + ")

          def share(cell)
            share = split(cell).own_share or return ""
            percent = Report::Cell.interval(share.map { |part| part * 100 }, unit: "%")
            "; serializer and compressor alone take #{percent} of its CPU time"
          end

          def heading(value, operation) = "End to end: #{WAYS.fetch(operation)}, #{title_of(value)}"

          def add(document, value, operation, wholes)
            document.section("#{title_of(value)}: #{WAYS.fetch(operation)}") do |section|
              section.text(method_text) if groups.keys.first == [value, operation]
              section.add(table(value, operation, wholes))
            end
          end

          def method_text
            "#{reach}`serialize` and `compress` were measured alone on the same values; `wire` and `server` are the " \
              "same bytes through a raw socket, of which `server` is CPU time of the server's process; `client` is " \
              "the CPU time that is left of the whole call, and where the store is in this process, the store."
          end

          def table(value, operation, wholes)
            factors = %w[store serializer compressor].to_h { |axis| [axis, ->(cell) { cell["contestant"][axis] }] }
            parts = Split::PARTS.to_h { |part| [part, ->(cell) { part_of(cell, part) }] }
            cell_table(heading(value, operation), wholes,
                       { **factors, "time" => :time, "ratio" => :ratio, "bytes" => :bytes, **parts },
                       labels: 3, label: method(:words),
                       note: "Microseconds a call; ratios are to the first row of the same comparison.")
          end

          def part_of(cell, part)
            split = split(cell)
            return Report::Cell.number(split.us[part], unit: "us") if split.us
            Report::Cell.missing("cannot split: #{split.reason}")
          end

          def split(cell)
            (@splits ||= {}.compare_by_identity)[cell] ||= begin
              same_value = results["cells"].select { |other| other["value"] == cell["value"] }
              Split.new(cell, same_value, cell["operation"])
            end
          end
        end
      end
    end
  end
end
