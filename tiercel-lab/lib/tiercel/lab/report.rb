# frozen_string_literal: true

require "erb/escape"

module Tiercel::Lab
  # The lab's output: data in, text out. This module does not measure, and does not use the network.
  #
  #   document = Report::Document.new(title: "Reads")
  #   document.section("Hits") { |section| section.add(table).add(chart) }
  #   File.write("report.html", Report::Html.render(document))
  #
  # A {Report::Table} is plain data for every renderer. A {Report::Chart} has a table with the same data as its text
  # form.
  module Report
    Tiercel::Lab.declare self, "report/charts" => %i[Chart Charts], "report/html" => %i[Html],
                      "report/markdown" => %i[Csv Markdown], "report/svg" => %i[Scale Svg],
                      "report/terminal" => %i[Terminal]

    # @param text [String]
    # @return [String] an anchor: lower case, digits and dashes
    def self.slug(text) = text.scrub("-").downcase.gsub(/[^a-z0-9]+/, "-").gsub(/\A-|-\z/, "")

    # @param text [#to_s] text with arbitrary bytes
    # @return [String] safe in HTML and SVG, also in attributes
    def self.escape(text) = ERB::Escape.html_escape(text.to_s.scrub)


    # Formats numbers for people.
    module Format
      MINUS = "\u2212"
      THOUSANDS = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].freeze
      TIMES = [[1.0, "s"], [1e-3, "ms"], [1e-6, "us"]].freeze

      module_function

      # @param value [Numeric, nil]
      # @param digits [Integer, nil] decimals; nil for three significant digits
      # @param plain [Boolean] ASCII, without separators
      # @return [String]
      def number(value, digits: nil, plain: false)
        return "" if value.nil?
        return value.to_s unless value.respond_to?(:finite?) && value.finite?
        digits ||= value.is_a?(Integer) ? 0 : decimals(value)
        text = format("%.#{digits}f", value)
        return text if plain
        whole, fraction = text.delete_prefix("-").split(".")
        whole = whole.reverse.scan(/\d{1,3}/).join(",").reverse if whole.length > 3
        "#{MINUS if value.negative? && text.match?(/[1-9]/)}#{[whole, fraction].compact.join(".")}"
      end

      # @param value [Numeric]
      # @param significant [Integer]
      # @return [Integer] decimals that show that many significant digits, at most 6
      def decimals(value, significant = 3)
        magnitude = value.abs
        return 0 if magnitude.zero?
        (significant - 1 - Math.log10(magnitude).floor).clamp(0, 6)
      end

      # @param value [Numeric]
      # @param unit [String, nil]
      # @return [String] "1.20 us"; no space before "%" and "x"
      def with_unit(value, unit, digits: nil)
        text = number(value, digits:)
        return text if unit.nil? || unit.empty? || text.empty?
        ["%", "x"].include?(unit) ? "#{text}#{unit}" : "#{text} #{unit}"
      end

      # @param value [Numeric]
      # @return [String] an axis label: 0.25, 1, 20, 1k, 2M
      def tick(value)
        magnitude = value.abs
        factor, suffix = THOUSANDS.find { |limit, _| magnitude >= limit * 0.9999 } || [1.0, ""]
        text = format("%.6f", value / factor).sub(/\.?0+\z/, "")
        "#{text}#{suffix}"
      end

      # @param count [Integer]
      # @return [String] "1 round", "2 rounds"
      def several(count, noun, plural = "#{noun}s") = "#{count} #{count == 1 ? noun : plural}"

      # @param seconds [Numeric] duration of a run in seconds
      # @return [String] "45 s", "2 min 05 s"
      def minutes(seconds)
        seconds = seconds.round
        seconds < 60 ? "#{seconds} s" : format("%d min %02d s", *seconds.divmod(60))
      end

      # @param share [Float] 0.012
      # @return [String] "1.2 %"
      def percent(share) = format("%.1f %%", share * 100)

      # @param seconds [Numeric] duration of a call in seconds
      # @return [String] "450 ns", "12.0 us", "3.50 ms", "2.00 s"
      def duration(seconds)
        factor, unit = TIMES.find { |limit, _| seconds.abs >= limit } || [1e-9, "ns"]
        with_unit(seconds / factor, unit)
      end

      # @param bytes [Numeric]
      # @return [String] "950 B", "1.50 KB", powers of 1,024
      def bytes(bytes)
        power = bytes.abs < 1024 ? 0 : (Math.log(bytes.abs) / Math.log(1024)).floor.clamp(0, 4)
        return "#{bytes.round} B" if power.zero?
        with_unit(bytes.fdiv(1024**power), %w[B KB MB GB TB][power])
      end
    end

    # One cell of a {Table}.
    #
    # Renderers use its plain text ({#to_s}), its values for a CSV file ({#data}), and its kind. A muted cell is drawn
    # grey, because its figure decides nothing.
    class Cell
      VERDICTS = { faster: "faster", slower: "slower", same: "same", uneven: "uneven",
                   cannot_tell: "cannot tell" }.freeze
      MARKS = { yes: "yes", no: "no", partly: "partly" }.freeze

      # @return [Symbol] :text, :number, :interval, :verdict, :mark or :missing
      attr_reader :kind
      # @return [Object, nil] the String, number or Symbol behind the text
      attr_reader :value
      # @return [Numeric, nil] lower bound of an interval
      attr_reader :low
      # @return [Numeric, nil] upper bound
      attr_reader :high
      # @return [String, nil] unit of the numbers
      attr_reader :unit
      # @return [Integer, nil] decimals; nil for three significant digits
      attr_reader :digits
      # @return [String, nil] a footnote, or for a missing cell a command that helps
      attr_reader :note

      class << self
        # @param value [Cell, String, Symbol, Numeric, nil, #estimate] {Statistics::Interval}s become
        #   intervals, the words of {Statistics::Verdict} verdicts, true and false marks
        # @return [Cell]
        def from(value)
          case value
          when Cell then value
          when true then mark(:yes)
          when false then mark(:no)
          when nil then text("")
          when Numeric then number(value)
          when Symbol then VERDICTS.key?(value) ? verdict(value) : text(value.to_s)
          else value.respond_to?(:estimate) ? interval(value) : text(value.to_s)
          end
        end

        # @param text [String]
        # @param muted [Boolean]
        # @param note [String, nil] a footnote
        # @return [Cell]
        def text(text, muted: false, note: nil) = new(:text, text, muted:, note:)

        # @param value [Numeric]
        # @return [Cell]
        def number(value, unit: nil, digits: nil, muted: false, note: nil)
          new(:number, value, unit:, digits:, muted:, note:)
        end

        # @param count [Numeric, nil] an exact count; an average of several calls may have decimals
        # @return [Cell] without decimals for whole numbers
        def count(count)
          return text("") if count.nil?
          whole = count.to_i == count
          number(whole ? count.to_i : count, digits: whole ? 0 : 2)
        end

        # @param interval [#estimate, #low, #high] such as a {Statistics::Interval}
        # @param muted [Boolean] drawn grey: the interval is too wide to decide
        # @return [Cell]
        def interval(interval, unit: nil, digits: nil, muted: false, note: nil)
          new(:interval, interval.estimate, low: interval.low, high: interval.high, unit:, digits:, muted:, note:)
        end

        # @param word [Symbol] one of {VERDICTS}
        # @return [Cell]
        def verdict(word, note: nil)
          check("verdict", word, VERDICTS)
          new(:verdict, word, muted: word == :cannot_tell, note:)
        end

        # @param mark [Symbol] :yes, :no or :partly
        # @param note [String, nil] a footnote that explains :partly
        # @return [Cell]
        def mark(mark, note: nil)
          check("mark", mark, MARKS)
          new(:mark, mark, note:)
        end

        # @param reason [String] the reason why there is no figure
        # @param remedy [String, nil] a command that helps
        # @return [Cell]
        def missing(reason, remedy: nil) = new(:missing, reason, note: remedy, muted: true)

        # @private
        def check(noun, word, known)
          return if known.key?(word)
          raise ArgumentError, "#{noun} #{word.inspect}: expected one of #{known.keys.join(", ")}"
        end
      end

      # @private
      def initialize(kind, value, low: nil, high: nil, unit: nil, digits: nil, muted: false, note: nil)
        @kind = kind
        @value = value
        @low = low
        @high = high
        @unit = unit
        @digits = digits
        @muted = muted
        @note = note
      end

      # @return [Boolean] whether the figure is uncertain or missing
      def muted? = @muted

      # @return [Boolean] whether it is aligned to the right
      def numeric? = kind == :number || kind == :interval

      # @return [Numeric, nil] the number, or the middle of an interval
      def estimate = (value if numeric?)

      # @return [String] the figure without its bounds
      def main_text
        case kind
        when :number, :interval then Format.with_unit(value, unit, digits:)
        when :verdict then VERDICTS.fetch(value)
        when :mark then MARKS.fetch(value)
        when :missing then value
        else value.to_s
        end
      end

      # @return [String, nil] "[0.58\u20130.63]", with as many decimals as the estimate
      def bounds_text
        return unless low && high
        decimals = digits || Format.decimals(estimate)
        "[#{Format.number(low, digits: decimals)}\u2013#{Format.number(high, digits: decimals)}]"
      end

      # @return [String] main text and bounds
      def to_s = [main_text, bounds_text].compact.join(" ")

      # @return [Array] value, lower bound and upper bound, for programs
      def data
        case kind
        when :number, :interval then [value, low, high]
        when :missing then ["n/a: #{value}", nil, nil]
        else [value.to_s, nil, nil]
        end
      end
    end

    # Rows of {Cell}s under a header, for every renderer.
    #
    #   table = Table.new("Reads", header: ["store", "us"], command: "bin/lab compare memory: shared:")
    #   table.row("shared:", Cell.interval(interval, unit: "us"))
    class Table
      # @return [String]
      attr_reader :title
      # @return [String] unique within a document
      attr_reader :anchor
      # @return [Array<String>]
      attr_reader :header
      # @return [Array<Array<Cell>>]
      attr_reader :rows
      # @return [String, nil] the command that makes this table again
      attr_accessor :command
      # @return [String, nil] a sentence under the title
      attr_reader :note
      # @return [String, nil] the noise floor of the table's figures
      attr_accessor :floor

      # @param title [String]
      # @param header [Array<String>] one for each column
      # @param rows [Array<Array>] see {Cell.from}
      # @param anchor [String, nil] nil: computed from the title
      # @param command [String, nil]
      # @param note [String, nil]
      # @param floor [String, nil]
      def initialize(title, header:, rows: [], anchor: nil, command: nil, note: nil, floor: nil)
        @title = title
        @header = header.map(&:to_s)
        @anchor = anchor || Report.slug(title)
        @command = command
        @note = note
        @floor = floor
        @rows = []
        rows.each { |cells| row(*cells) }
      end

      # @param cells [Array] one for each column, see {Cell.from}
      # @return [self]
      # @raise [ArgumentError] for another number of cells than columns
      def row(*cells)
        unless cells.size == header.size
          raise ArgumentError, "table #{title.inspect}: expected #{header.size} cells (#{header.join(", ")}), " \
                               "got #{cells.size}"
        end
        @rows << cells.map { |cell| Cell.from(cell) }
        self
      end

      # @return [Array<String>] the cells' notes in reading order, without duplicates; notes of missing cells are not
      #   among them
      def footnotes = rows.flatten.reject { |cell| cell.kind == :missing }.filter_map(&:note).uniq

      # @param cell [Cell]
      # @return [Integer, nil] its number in {#footnotes}, from 1
      def footnote(cell)
        return if cell.note.nil? || cell.kind == :missing
        (@numbers ||= {})[cell.note] ||= footnotes.index(cell.note) + 1
      end

      # @param column [Integer]
      # @return [Boolean] whether its cells are aligned to the right
      def numeric?(column)
        cells = rows.filter_map { |row| row[column] unless row[column].kind == :missing || row[column].to_s.empty? }
        cells.any? && cells.all?(&:numeric?)
      end
    end

    # A report: its contents in their order, without any layout.
    #
    #   document = Document.new(title: "memory: against MemoryStore", command: "bin/lab compare ...")
    #   document.verdict("A hit costs 0.6 us: 6x MemoryStore.", tone: :faster)
    #   document.section("Reads") { |section| section.add(table).add(chart) }
    class Document
      Verdict = Struct.new(:sentence, :tone, :warnings)
      # The answer: its conditions, a sentence, up to three candidates (name, cost, memory, configuration), notes, and
      # changes of the answer. `lines` is the whole answer for a terminal.
      Answer = Struct.new(:conditions, :sentence, :candidates, :notes, :changes, :lines)
      # A finding in one sentence, with the title or anchor of its section.
      Finding = Struct.new(:text, :anchor)
      Paragraph = Struct.new(:text)
      # A command or configuration to copy.
      Code = Struct.new(:text, :title)
      # The heading of a part of a section.
      Heading = Struct.new(:text) do
        def anchor = Report.slug(text)
      end
      # Details that a page folds and a terminal only names. Markdown and CSV contain them.
      Fold = Struct.new(:title, :elements)

      # Elements under one heading.
      class Section
        attr_reader :title
        # @return [String] unique within a document
        attr_reader :anchor
        # @return [Array<Paragraph, Table, Chart, Code, Heading, Verdict, Fold>]
        attr_reader :elements

        def initialize(title, anchor: nil)
          @title = title
          @anchor = anchor || Report.slug(title)
          @elements = []
        end

        # @return [self]
        def add(element)
          @elements << element
          self
        end

        # @param text [String] `backticks` mark code
        def text(text) = add(Paragraph.new(text))

        def code(text, title: nil) = add(Code.new(text, title))

        # @param elements [Array]
        def fold(title, elements) = add(Fold.new(title, elements))

        # @param options [Hash] see {Table#initialize}
        # @yieldparam table [Table]
        def table(title, **options)
          table = Table.new(title, **options)
          yield table if block_given?
          add(table)
        end
      end

      attr_reader :title, :subtitle
      # @return [String, nil] the command that repeats the run
      attr_reader :command
      # @return [Hash{String => String}] machine, versions and everything else that figures depend on besides the code
      attr_reader :environment
      # @return [Answer, nil] shown at the top
      attr_accessor :answer
      # @return [Array<Verdict>] in the order of the document
      attr_reader :verdicts
      # @return [Array<Finding>] the most important results, for readers of the first screen
      attr_reader :findings
      attr_reader :sections
      # @return [Object, nil] the results, as data in the page
      attr_reader :data

      def initialize(title:, subtitle: nil, command: nil, environment: {}, data: nil)
        @title = title
        @subtitle = subtitle
        @command = command
        @environment = environment.to_h { |name, value| [name.to_s, value.to_s] }.reject { |_, value| value.empty? }
        @data = data
        @verdicts = []
        @findings = []
        @sections = []
      end

      # Adds the main finding, which stands at the top.
      #
      # @param tone [Symbol] one of {Statistics::Verdict::ALL}, or :plain
      # @param warnings [Array<String>] reasons to doubt the figures
      # @return [self]
      def verdict(sentence, tone: :plain, warnings: [])
        unless tone == :plain || Cell::VERDICTS.key?(tone)
          raise ArgumentError, "tone #{tone.inspect}: expected one of plain, #{Cell::VERDICTS.keys.join(", ")}"
        end
        @verdicts << Verdict.new(sentence, tone, warnings)
        self
      end

      # @yieldparam section [Section]
      # @return [Section]
      def section(title, anchor: nil)
        section = Section.new(title, anchor:)
        @sections << section
        yield section if block_given?
        section
      end

      # @return [Array<Table>] all tables, including those of charts
      def tables =
        elements.filter_map { |element| element.is_a?(Chart) ? element.table : (element if element.is_a?(Table)) }

      # @return [Array<Table>] the tables, except those that belong to charts
      def own_tables = elements.grep(Table)

      private

      def elements
        unfold = ->(element) { element.is_a?(Fold) ? element.elements.flat_map(&unfold) : [element] }
        sections.flat_map(&:elements).flat_map(&unfold)
      end
    end
  end
end
