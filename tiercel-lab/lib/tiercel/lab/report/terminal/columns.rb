# frozen_string_literal: true

require_relative "style"

module Tiercel
  module Lab
    module Report
      module Terminal
        # Aligns text in columns.
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

          # @param cells [Array<#to_s>] one for each column; nil is an empty cell
          # @param colour [Symbol, nil] colour of the whole row, see {Style}
          # @param colours [Array<Symbol, nil>] colours of single cells
          # @return [self]
          def row(cells, colour: nil, colours: [])
            unless cells.size == @columns.size
              raise ArgumentError, "#{cells.size} cells for #{@columns.size} columns: #{cells.inspect}"
            end
            @lines << [:row, cells.map(&:to_s), colour, colours]
            self
          end

          # Adds a title between rows.
          #
          # @param title [String]
          # @return [self]
          def section(title)
            @lines << [:section, title, :bold]
            self
          end

          # Adds a row with words instead of figures.
          #
          # @param name [String]
          # @param words [String]
          # @return [self]
          def note(name, words)
            @lines << [:note, [name, words], :grey]
            self
          end

          # If the terminal has no room for all columns, the remaining ones follow below, each time with the first
          # column beside them.
          #
          # @param style [Style]
          # @return [String] lines, each with a newline at its end
          def to_s(style = Style.new(nil))
            bands(style.width).each_with_index.map { |band, index| block(band, style, index.zero?) }.join("\n")
          end

          private

          # @return [Array<Array<Integer>>] columns that fit into a line together
          def bands(room)
            return [@columns.each_index.to_a] unless room
            left = 0
            @columns.each_index.drop(1).each_with_object([]) { |index, found|
              left -= widths[index] + GAP.length
              next found.last << index unless left.negative? || found.empty?
              found << [0, index]
              left = room - widths.first - GAP.length - widths[index]
            }.then { |found| found.empty? ? [[0]] : found }
          end

          def block(band, style, first)
            header = align(@columns.map(&:first), band)
            lines = @lines.select { |kind, *| first || kind != :note }
            body = lines.flat_map do |kind, content, colour, colours|
              line(kind, content, band, colours, style).map { |text| style.paint(text, colour) }
            end
            [style.paint(header, :bold), *body].map { |text| "#{text.rstrip}\n" }.join
          end

          def widths
            @widths ||= begin
              rows = @lines.filter_map { |kind, cells| cells if kind == :row }
              names = @lines.filter_map { |kind, cells| cells.first if kind == :note }
              @columns.each_index.map do |index|
                texts = [@columns[index].first, *rows.map { |cells| cells[index] }]
                texts += names if index.zero?
                texts.map(&:length).max
              end
            end
          end

          # @return [Array<String>] one line, unless a single cell is wider than the terminal
          def line(kind, content, band, colours, style)
            case kind
            when :section then [content]
            when :note then style.lines("#{content.first.ljust(widths.first)}#{GAP}#{content.last}")
            else
              text = align(content, band, colours) { |aligned, colour| style.paint(aligned, colour) }
              too_wide?(band, style.width) ? style.lines(content.values_at(*band).join(GAP)) : [text]
            end
          end

          def too_wide?(band, room) = room && (band.sum { |index| widths[index] + GAP.length }) - GAP.length > room

          def align(cells, band, colours = [])
            band.map do |index|
              text = cells[index]
              aligned = @columns[index].last == :right ? text.rjust(widths[index]) : text.ljust(widths[index])
              colours[index] ? yield(aligned, colours[index]) : aligned
            end.join(GAP)
          end
        end
      end
    end
  end
end
