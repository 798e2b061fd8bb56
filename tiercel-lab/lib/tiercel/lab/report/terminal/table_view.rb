# frozen_string_literal: true

require_relative "columns"
require_relative "style"
require_relative "whiskers"

module Tiercel
  module Lab
    module Report
      module Terminal
        # A {Report::Table} at the terminal: title, columns, footnotes, and the command that makes it again. Columns of
        # intervals have whiskers if the line has room. Undecided figures are grey.
        class TableView
          # The longest line with whiskers.
          ROOM = 150
          COLOURS = { faster: :green, slower: :red, uneven: :red }.freeze

          # @param table [Report::Table]
          def initialize(table)
            @table = table
          end

          # @param style [Style]
          # @return [String] lines, each with a newline at its end
          def to_s(style = Style.new(nil))
            @room = [style.width, ROOM].compact.min
            floor = " (noise floor: #{@table.floor})" if @table.floor
            title, *more = style.lines("#{@table.title}#{floor}")
            lines = [title.sub(@table.title) { |text| style.paint(text, :bold) }, *more]
            lines.concat(style.lines(@table.note)) if @table.note
            lines << columns.to_s(style).chomp
            lines.concat(notes.each_with_index.flat_map { |note, index| style.lines("[#{index + 1}] #{note}") })
            lines << "Again: #{@table.command}" if @table.command
            lines.map { |line| "#{line}\n" }.join
          end

          private

          def columns
            sides = @table.header.each_index.map { |index| @table.numeric?(index) ? :right : :left }
            columns = Columns.new(@table.header.zip(sides))
            @table.rows.each do |row|
              name, *others = row
              if alone?(others)
                columns.note(name.to_s, reason(others.first))
              else
                grey = others.any? && others.all?(&:muted?)
                texts = row.each_with_index.map { |cell, index| text(cell, index) }
                grey ? columns.row(texts, colour: :grey) : columns.row(texts, colours: row.map { |cell| colour(cell) })
              end
            end
            columns
          end

          def colour(cell)
            return COLOURS[cell.value] || (:grey if cell.muted?) if cell.kind == :verdict
            :grey if cell.muted?
          end

          # @return [Hash{Integer => Whiskers}] by column
          def whiskers
            @whiskers ||= begin
              found = @table.header.each_index.to_h do |index|
                [index, Whiskers.new(intervals(index), mark: mark(index))]
              end
              left = @room - widths.sum { |width| width + Columns::GAP.length }
              found.select { |index, drawn| drawn.any? && (left -= Whiskers::WIDTH + 1) >= 0 }
            end
          end

          # The baseline's 1, for columns of ratios.
          def mark(column) = (1.0 if intervals(column).any? && intervals(column).all? { |cell| cell.unit == "x" })

          def intervals(column) = @table.rows.map { |row| row[column] }.select { |cell| cell.kind == :interval }

          def widths
            shown = @table.rows.reject { |row| alone?(row.drop(1)) }
            @widths ||= @table.header.each_with_index.map do |title, index|
              [title, *shown.map { |row| plain(row[index]) }].map(&:length).max
            end
          end

          # Whether one reason replaces all figures of a row.
          def alone?(cells)
            first, *rest = cells
            return false unless first&.kind == :missing
            rest.all? { |cell| cell.to_s.empty? || (cell.kind == :missing && cell.to_s == first.to_s) }
          end

          def reason(cell) = [cell.value, cell.note].compact.join("; ")

          # Footnotes, and the reasons for single missing figures.
          def notes
            @notes ||= @table.rows.reject { |row| alone?(row.drop(1)) }.flatten.filter_map do |cell|
              cell.kind == :missing ? reason(cell) : cell.note
            end.uniq
          end

          def text(cell, index)
            drawn = whiskers[index] or return plain(cell)
            shown = @table.numeric?(index) ? plain(cell).rjust(widths[index]) : plain(cell).ljust(widths[index])
            "#{shown} #{drawn.draw(cell.kind == :interval ? cell : nil)}"
          end

          def plain(cell)
            return "n/a [#{notes.index(reason(cell)) + 1}]" if cell.kind == :missing
            cell.note ? "#{cell} [#{notes.index(cell.note) + 1}]" : cell.to_s
          end
        end
      end
    end
  end
end
