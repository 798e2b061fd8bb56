# frozen_string_literal: true

require_relative "style"

module Tiercel
  module Lab
    module Report
      module Terminal
        # Text in columns.
        #
        #   table = Columns.new([["store", :left], ["us", :right]])
        #   table.row(["memory_store", "2.8"])
        #   table.row(["tiercel", "0.6"], colour: :green)
        #   table.section("write")
        #   table.note("litecache", "gem litecache is not installed")
        #   puts table.to_s(style)
        class Columns
          GAP = "  "

          # @param columns [Array<Array(String, Symbol)>] titles, and :left or :right
          def initialize(columns)
            @columns = columns
            @lines = []
          end

          # @param cells [Array<#to_s>] as many as there are columns; nil is empty
          # @param colour [Symbol, nil] of the whole row, see {Style}
          # @param colours [Array<Symbol, nil>] of single cells
          # @return [self]
          def row(cells, colour: nil, colours: [])
            unless cells.size == @columns.size
              raise ArgumentError, "#{cells.size} cells for #{@columns.size} columns: #{cells.inspect}"
            end
            @lines << [:row, cells.map(&:to_s), colour, colours]
            self
          end

          # A title between rows.
          #
          # @param title [String]
          # @return [self]
          def section(title)
            @lines << [:section, title, :bold]
            self
          end

          # A row with words in place of figures.
          #
          # @param name [String]
          # @param words [String]
          # @return [self]
          def note(name, words)
            @lines << [:note, [name, words], :grey]
            self
          end

          # @param style [Style]
          # @return [String] with a newline at the end of each line
          def to_s(style = Style.new(nil))
            widths = self.widths
            header = align(@columns.map(&:first), widths)
            body = @lines.map do |kind, content, colour, colours|
              style.paint(line(kind, content, widths, colours) { |text, of_cell| style.paint(text, of_cell) }, colour)
            end
            [style.paint(header, :bold), *body].map { |text| "#{text.rstrip}\n" }.join
          end

          private

          def widths
            rows = @lines.filter_map { |kind, cells| cells if kind == :row }
            names = @lines.filter_map { |kind, cells| cells.first if kind == :note }
            @columns.each_index.map do |index|
              texts = [@columns[index].first, *rows.map { |cells| cells[index] }]
              texts += names if index.zero?
              texts.map(&:length).max
            end
          end

          def line(kind, content, widths, colours, &paint)
            case kind
            when :section then content
            when :note then "#{content.first.ljust(widths.first)}#{GAP}#{content.last}"
            else align(content, widths, colours, &paint)
            end
          end

          def align(cells, widths, colours = [])
            cells.each_with_index.map do |text, index|
              aligned = @columns[index].last == :right ? text.rjust(widths[index]) : text.ljust(widths[index])
              colours[index] ? yield(aligned, colours[index]) : aligned
            end.join(GAP)
          end
        end
      end
    end
  end
end
