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

      # Aligns text in columns.
      #
      #   table = Columns.new([["store", :left], ["us", :right]])
      #   table.row(["memory_store", "2.8"])
      #   table.row(["tiercel", "0.6"], colour: :green)
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

      # A {Report::Table} at the terminal: title, columns, footnotes, and the command that makes it again. Undecided
      # figures are grey.
      class TableView
        COLOURS = { faster: :green, slower: :red, uneven: :red }.freeze

        # @param table [Report::Table]
        def initialize(table)
          @table = table
        end

        # @param style [Style]
        # @return [String] lines, each with a newline at its end
        def to_s(style = Style.new(nil))
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
              texts = row.map { |cell| text(cell) }
              grey ? columns.row(texts, colour: :grey) : columns.row(texts, colours: row.map { |cell| colour(cell) })
            end
          end
          columns
        end

        def colour(cell)
          return COLOURS[cell.value] || (:grey if cell.muted?) if cell.kind == :verdict
          :grey if cell.muted?
        end

        # Returns whether one reason replaces all figures of a row.
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
        when Table then TableView.new(element).to_s(style)
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
