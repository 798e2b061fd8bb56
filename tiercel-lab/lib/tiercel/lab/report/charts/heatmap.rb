# frozen_string_literal: true

module Tiercel
  module Lab
    module Report
      module Charts
        # One figure for each pair of row and column (serializer x compressor), shaded by its ratio to the others.
        class Heatmap < Chart
          # Figures on darker shades than this have the background's colour.
          ON_DARK = 0.68

          # @param rows [Array<String>]
          # @param columns [Array<String>]
          # @param unit [String]
          # @param row_name [String] heading of the rows ("serializer")
          # @param column_name [String]
          # @param options [Hash] see {Chart#initialize}
          def initialize(title, rows:, columns:, unit:, row_name: "", column_name: "", **options)
            super(title, **options)
            @rows = rows
            @columns = columns
            @unit = unit
            @row_name = row_name
            @column_name = column_name
            @figures = {}
            @framed = []
          end

          # @param row [String]
          # @param column [String]
          # @param figure [Numeric, #estimate, nil] nil: no figure
          # @param muted [Boolean]
          # @return [self]
          # @raise [ArgumentError] if the row or column is unknown
          def set(row, column, figure, muted: false)
            check("row", row, @rows)
            check("column", column, @columns)
            @figures[[row, column]] = Cell.from(figure).then do |cell|
              muted ? Cell.number(cell.estimate, muted:) : cell
            end
            self
          end

          # Frames the best figure. The caller decides which one is best.
          #
          # @return [self]
          # @raise [ArgumentError] if the row or column is unknown
          def frame(row, column)
            check("row", row, @rows)
            check("column", column, @columns)
            @framed << [row, column]
            self
          end

          def table
            table = twin(["#{@row_name} \\ #{@column_name}, #{@unit}", *@columns])
            @rows.each { |row| table.row(row, *@columns.map { |column| @figures[[row, column]] }) }
            table
          end

          def legend
            [["least", "heat heat-low"], ["most", "heat heat-high"], *([["best", "heat-best"]] if @framed.any?)]
          end

          private

          def check(noun, name, known)
            return if known.include?(name)
            raise ArgumentError, "#{noun} #{name.inspect}: expected one of #{known.join(", ")}"
          end

          def present = @figures.values.select(&:estimate)

          def summary
            return "No figures." if present.empty?
            least, most = present.map(&:estimate).minmax.map { |figure| Format.with_unit(figure, @unit) }
            best = "; best: #{@framed.map { |place| place.join(", ") }.join("; ")}" if @framed.any?
            "#{@rows.size} x #{@columns.size} figures from #{least} to #{most}#{best}."
          end

          # On narrow charts the names of the columns stand upright.
          def draw(width)
            room = [[@rows.map { |row| Svg.text_width(row, 12.5) }.max + 14, width * 0.3].min, 40].max
            cell_width = (width - room) / @columns.size.to_f
            longest = @columns.map { |column| Svg.text_width(column, 12) }.max
            upright = longest > cell_width - 4
            top = upright ? longest + 16 : 28
            svg = Svg.new(width, top + (@rows.size * 34) + 4)
            column_names(svg, room, cell_width, top, upright)
            @rows.each_with_index do |row, index|
              y = top + (index * 34)
              svg.text(room - 12, y + 21, Svg.fit(row, room - 12, 12.5), anchor: :end, class: "label")
              @columns.each_with_index do |column, place|
                draw_cell(svg, room + (place * cell_width), y, cell_width, row, column)
              end
            end
            svg
          end

          def column_names(svg, room, cell_width, top, upright)
            @columns.each_with_index do |column, place|
              x = room + ((place + 0.5) * cell_width)
              if upright
                x, y = (x + 4).round(1), (top - 8).round(1)
                svg.text(x, y, column, class: "label", transform: "rotate(-90 #{x} #{y})")
              else
                svg.text(x, top - 10, column, anchor: :middle, class: "label")
              end
            end
          end

          def draw_cell(svg, x, y, width, row, column)
            cell = @figures[[row, column]]
            figure = cell&.estimate
            tip = "#{row}, #{column}: #{figure ? "#{cell} #{@unit}" : (cell&.to_s || "no figure")}"
            svg.group(tip:) do
              svg.rect(x + 1, y + 1, width - 2, 32, class: "heat-ground")
              next svg.text(x + (width / 2), y + 21, "\u2013", anchor: :middle, class: "missing") unless figure
              draw_figure(svg, x, y, width, cell)
              best_frame(svg, x, y, width) if @framed.include?([row, column])
            end
          end

          def draw_figure(svg, x, y, width, cell)
            shade = cell.muted? ? 0 : shade(cell.estimate)
            svg.rect(x + 1, y + 1, width - 2, 32, class: "heat", "fill-opacity": shade.round(2).to_s)
            css = ["cell", ("on-dark" if shade > ON_DARK), ("missing" if cell.muted?)].compact.join(" ")
            text = Format.number(cell.estimate, digits: cell_digits(width, cell.estimate))
            svg.text(x + (width / 2), y + 21, text, anchor: :middle, class: css)
          end

          # Three significant digits, fewer in narrow cells.
          def cell_digits(width, figure)
            return if width >= 44
            figure >= 10 ? 0 : 1
          end

          def best_frame(svg, x, y, width) = svg.rect(x + 2, y + 2, width - 4, 30, class: "heat-best")

          # The shade follows the ratio: 10 is half way between 1 and 100.
          def shade(figure)
            least, most = present.map(&:estimate).minmax
            return 0.5 if least == most
            return 0.06 + (0.84 * (figure - least) / (most - least)) unless least.positive?
            0.06 + (0.84 * Math.log(figure / least.to_f) / Math.log(most / least.to_f))
          end
        end
      end
    end
  end
end
