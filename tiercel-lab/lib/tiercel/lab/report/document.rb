# frozen_string_literal: true

module Tiercel
  module Lab
    module Report
      # A report: what is in it and in which order, not how it looks.
      #
      #   document = Document.new(title: "memory: against MemoryStore", command: "bin/lab compare ...")
      #   document.verdict("A hit costs 0.6 us: 6x MemoryStore.", tone: :faster, floor: "1.2 %")
      #   document.section("Reads") { |section| section.add(table).add(chart) }
      class Document
        Verdict = Struct.new(:sentence, :tone, :floor, :warnings)
        Paragraph = Struct.new(:text)
        # Something to copy: a command, a configuration.
        Code = Struct.new(:text, :title)
        # Where a section has parts.
        Heading = Struct.new(:text)

        # Elements under one heading.
        class Section
          # @return [String]
          attr_reader :title
          # @return [String]
          attr_reader :anchor
          # @return [Array<Table, Chart, Paragraph, Code, Heading, Verdict>]
          attr_reader :elements

          def initialize(title, anchor: nil)
            @title = title
            @anchor = anchor || Report.slug(title)
            @elements = []
          end

          # @param element [Table, Chart, Verdict]
          # @return [self]
          def add(element)
            @elements << element
            self
          end

          # @param text [String] a paragraph; `backticks` set code
          # @return [self]
          def text(text) = add(Paragraph.new(text))

          # @param text [String] a command or a configuration
          # @param title [String, nil]
          # @return [self]
          def code(text, title: nil) = add(Code.new(text, title))

          # @param text [String] above a part of the section
          # @return [self]
          def heading(text) = add(Heading.new(text))

          # @param title [String]
          # @param options [Hash] see {Table#initialize}
          # @yieldparam table [Table]
          # @return [self]
          def table(title, **options)
            table = Table.new(title, **options)
            yield table if block_given?
            add(table)
          end
        end

        # @return [String]
        attr_reader :title
        # @return [String, nil]
        attr_reader :subtitle
        # @return [String, nil] what makes this report again
        attr_reader :command
        # @return [Hash{String => String}] machine, versions, date, as shown; without what is empty
        attr_reader :environment
        # @return [Array<Verdict>]
        attr_reader :verdicts
        # @return [Array<Section>]
        attr_reader :sections
        # @return [Object, nil] what is embedded as JSON, for programs that read the report
        attr_reader :data

        # @param title [String]
        # @param subtitle [String, nil]
        # @param command [String, nil]
        # @param environment [Hash{#to_s => #to_s}]
        # @param data [Object, nil] anything that JSON can carry
        def initialize(title:, subtitle: nil, command: nil, environment: {}, data: nil)
          @title = title
          @subtitle = subtitle
          @command = command
          @environment = environment.to_h { |name, value| [name.to_s, value.to_s] }.reject { |_, value| value.empty? }
          @data = data
          @verdicts = []
          @sections = []
        end

        # What the reader is to take away, above everything else.
        #
        # @param sentence [String]
        # @param tone [Symbol] one of {Statistics::Verdict::ALL}, or :plain
        # @param floor [String, nil] the noise floor of the run
        # @param warnings [Array<String>] what may have disturbed the run
        # @return [self]
        def verdict(sentence, tone: :plain, floor: nil, warnings: [])
          unless tone == :plain || Cell::VERDICTS.key?(tone)
            raise ArgumentError, "tone #{tone.inspect}: expected one of plain, #{Cell::VERDICTS.keys.join(", ")}"
          end
          @verdicts << Verdict.new(sentence, tone, floor, warnings)
          self
        end

        # @param title [String]
        # @param anchor [String, nil]
        # @yieldparam section [Section]
        # @return [Section]
        def section(title, anchor: nil)
          section = Section.new(title, anchor:)
          @sections << section
          yield section if block_given?
          section
        end

        # @return [Array<Table>] of all sections, the charts' text twins among them
        def tables
          sections.flat_map(&:elements).filter_map do |element|
            case element
            when Table then element
            when Chart then element.table
            end
          end
        end
      end
    end
  end
end
