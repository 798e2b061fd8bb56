# frozen_string_literal: true

require "io/console"

module Tiercel::Lab
  module Report
    # Renders a document for the terminal: its answer and sentence, then every table, but no charts.
    module Terminal
      # Colours, if the output is a terminal and NO_COLOR is not set, and the terminal's width.
      class Style
        CODES = { green: 32, red: 31, grey: 90, bold: 1 }.freeze

        # The width of a terminal that does not report one.
        COLUMNS = 80

        # @return [Integer, nil] columns of the terminal; nil for other outputs, whose lines are not wrapped
        attr_reader :width

        # @param io [IO]
        # @param environment [#[]]
        def initialize(io, environment = ENV)
          @coloured = io.respond_to?(:tty?) && io.tty? && environment["NO_COLOR"].to_s.empty? &&
                      environment["TERM"] != "dumb"
          @width = width_of(io) if io.respond_to?(:tty?) && io.tty?
        end

        # @param text [String]
        # @param colour [Symbol, nil] one of {CODES}
        # @return [String]
        def paint(text, colour) = @coloured && colour ? "\e[#{CODES.fetch(colour)}m#{text}\e[0m" : text

        # @param text [String]
        # @return [Array<String>] wrapped lines
        def lines(text) = width ? text.scan(/\S.{0,#{width - 1}}(?=\s|\z)|\S{1,#{width}}/) : [text]

        private

        def width_of(io)
          columns = io.respond_to?(:winsize) ? io.winsize.last : 0
          columns.positive? ? columns : COLUMNS
        rescue SystemCallError
          COLUMNS
        end
      end

      # A {Report::Table} at the terminal: title, columns, footnotes, and the command that makes it again. Undecided
      # figures are grey.
      class TableView
        COLOURS = { faster: :green, slower: :red, uneven: :red }.freeze
        GAP = "  "

        # @param table [Report::Table]
        # @param style [Style]
        def initialize(table, style = Style.new(nil))
          @table = table
          @style = style
        end

        # @return [String] lines, each with a newline at its end
        def to_s
          floor = " (noise floor: #{@table.floor})" if @table.floor
          title, *more = @style.lines("#{@table.title}#{floor}")
          lines = [title.sub(@table.title) { |text| @style.paint(text, :bold) }, *more]
          lines.concat(@style.lines(@table.note)) if @table.note
          lines << columns.chomp
          lines.concat(notes.each_with_index.flat_map { |note, index| @style.lines("[#{index + 1}] #{note}") })
          lines << "Again: #{@table.command}" if @table.command
          lines.map { |line| "#{line}\n" }.join
        end

        # If the terminal has no room for all columns, the remaining ones follow below, each time with the first
        # column beside them.
        #
        # @return [String] header and rows
        def columns
          bands.each_with_index.map { |band, number|
            rows = @table.rows.flat_map do |row|
              next line(row, band) unless alone?(row)
              number.zero? ? @style.lines(words(row)).map { |text| @style.paint(text, :grey) } : []
            end
            header = band.map { |index| aligned(@table.header[index], index) }.join(GAP)
            [@style.paint(header, :bold), *rows].map { |text| "#{text.rstrip}\n" }.join
          }.join("\n")
        end

        private

        # @return [Array<Array<Integer>>] columns that fit into a line together
        def bands
          all = @table.header.each_index.to_a
          return [all] unless @style.width
          left = 0
          all.drop(1).each_with_object([]) { |index, found|
            left -= widths[index] + GAP.length
            next found.last << index unless left.negative? || found.empty?
            found << [0, index]
            left = @style.width - widths.first - GAP.length - widths[index]
          }.then { |found| found.empty? ? [[0]] : found }
        end

        def widths
          @widths ||= @table.header.each_with_index.map do |title, index|
            cells = @table.rows.filter_map { |row| text(row[index]) if index.zero? || !alone?(row) }
            [title, *cells].map(&:length).max
          end
        end

        # @return [Array<String>] one line, unless a single cell is wider than the terminal
        def line(row, band)
          grey = row.size > 1 && row.drop(1).all?(&:muted?)
          texts = row.map { |cell| text(cell) }
          if @style.width && band.sum { |index| widths[index] + GAP.length } - GAP.length > @style.width
            return @style.lines(texts.values_at(*band).join(GAP)).map { |part| @style.paint(part, (:grey if grey)) }
          end
          cells = band.map { |index| @style.paint(aligned(texts[index], index), (colour(row[index]) unless grey)) }
          [@style.paint(cells.join(GAP), (:grey if grey))]
        end

        def aligned(text, index) = @table.numeric?(index) ? text.rjust(widths[index]) : text.ljust(widths[index])

        def colour(cell) = COLOURS[cell.value] || (:grey if cell.muted?)

        # Returns whether one reason replaces all figures of a row.
        def alone?(row)
          _, first, *rest = row
          return false unless first&.kind == :missing
          rest.all? { |cell| cell.to_s.empty? || (cell.kind == :missing && cell.to_s == first.to_s) }
        end

        def words(row) = "#{row.first.to_s.ljust(widths.first)}#{GAP}#{reason(row[1])}"

        def reason(cell) = [cell.value, cell.note].compact.join("; ")

        # Footnotes, and the reasons for single missing figures.
        def notes
          @notes ||= @table.rows.reject { |row| alone?(row) }.flatten.filter_map do |cell|
            cell.kind == :missing ? reason(cell) : cell.note
          end.uniq
        end

        def text(cell)
          return "n/a [#{notes.index(reason(cell)) + 1}]" if cell.kind == :missing
          cell.note ? "#{cell} [#{notes.index(cell.note) + 1}]" : cell.to_s
        end
      end

      # The parts of a document's environment that the terminal shows.
      SAID = %w[Machine Pinning].freeze

      module_function

      # @param document [Document]
      # @param style [Style]
      # @return [String] lines, each with a newline at its end
      def render(document, style: Style.new(nil))
        machine = document.environment.values_at(*SAID).compact.join("; ")
        findings = document.findings.map { |finding| text("- #{finding.text}", style) }.join
        answer = "#{document.answer.lines.join("\n")}\n" if document.answer
        [*answer, *document.verdicts.map { |verdict| headline(verdict, style) },
         *[findings, machine.empty? ? "" : text(machine, style)].reject(&:empty?),
         *document.sections.map { |section| section(section, style) }].join("\n")
      end

      def text(words, style) = style.lines(words).map { |line| "#{line}\n" }.join

      def headline(verdict, style)
        sentence = style.lines(verdict.sentence).map { |line| "#{style.paint(line, :bold)}\n" }
        [*sentence, *verdict.warnings.map { |line| text(line, style) }].join
      end

      def section(section, style)
        parts = section.elements.flat_map { |element| parts(element, style) }.compact
        [style.paint("#{section.title}\n", :bold), *parts].join("\n")
      end

      def parts(element, style)
        case element
        when Table then TableView.new(element, style).to_s
        when Document::Heading then style.paint("#{element.text}\n", :bold)
        when Document::Verdict then headline(element, style)
        when Document::Paragraph then text(element.text, style)
        when Document::Code then [element.title, element.text].compact.map { |line| "#{line}\n" }.join
        when Document::Fold then "[#{element.title}: --html, --markdown, --csv]\n"
        end
      end
      private_class_method :text, :headline, :section, :parts
    end
  end
end
