# frozen_string_literal: true

require_relative "chart"
require_relative "table"

module Tiercel
  module Lab
    module Report
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

          def heading(text) = add(Heading.new(text))

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
end
