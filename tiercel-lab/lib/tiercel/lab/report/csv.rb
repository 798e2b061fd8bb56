# frozen_string_literal: true

module Tiercel
  module Lab
    module Report
      # Tables as comma-separated values (RFC 4180, with line feeds).
      module Csv
        HEADER = %w[table row column value low high unit note].freeze

        module_function

        # A table has two additional columns for each column with bounds. A document has one line for each cell, so that
        # all tables fit into one file.
        #
        # @param report [Document, Table]
        # @return [String]
        def render(report)
          case report
          when Document then lines([HEADER, *report.tables.flat_map { |table| cells(table) }])
          when Table then lines(wide(report))
          else raise ArgumentError, "expected a Document or a Table, got #{report.class}"
          end
        end

        def wide(table)
          bounded = table.header.each_index.map { |column| table.rows.any? { |row| row[column].low } }
          header = table.header.zip(bounded).flat_map do |name, bounds|
            bounds ? [name, "#{name} low", "#{name} high"] : [name]
          end
          rows = table.rows.map { |row| row.zip(bounded).flat_map { |cell, bounds| cell.data.first(bounds ? 3 : 1) } }
          [header, *rows]
        end

        def cells(table)
          table.rows.flat_map do |row|
            row.each_with_index.drop(1).map do |cell, column|
              [table.title, row.first.to_s, table.header[column], *cell.data, cell.unit, cell.note]
            end
          end
        end

        def lines(rows) = rows.map { |row| "#{row.map { |field| quote(field) }.join(",")}\n" }.join

        def quote(field)
          text = field.to_s
          text.match?(/[",\r\n]/) ? %("#{text.gsub('"', '""')}") : text
        end

        private_class_method :wide, :cells, :lines, :quote
      end
    end
  end
end
