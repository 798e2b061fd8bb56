# frozen_string_literal: true

require_relative "report_table"

module Tiercel
  module Lab
    module Terminal
      # A whole {Report::Document} at the terminal: its sentence, then every table; charts are left to the other forms.
      class ReportDocument
        # @param document [Report::Document]
        def initialize(document)
          @document = document
        end

        # @param style [Style]
        # @return [String]
        def to_s(style = Style.new(nil))
          [*@document.verdicts.map { |verdict| headline(verdict, style) },
           *@document.sections.map { |section| text(section, style) }].join("\n")
        end

        private

        def headline(verdict, style)
          floor = "Noise floor of this run: #{verdict.floor}." if verdict.floor
          [style.paint(verdict.sentence, :bold), floor, *verdict.warnings].compact.map { |line| "#{line}\n" }.join
        end

        def text(section, style)
          parts = section.elements.filter_map do |element|
            case element
            when Report::Table then ReportTable.new(element).to_s(style)
            when Report::Document::Heading then style.paint("#{element.text}\n", :bold)
            when Report::Document::Verdict then headline(element, style)
            when Report::Document::Paragraph then "#{element.text}\n"
            when Report::Document::Code then [element.title, element.text].compact.map { |line| "#{line}\n" }.join
            end
          end
          [style.paint("#{section.title}\n", :bold), *parts].join("\n")
        end
      end
    end
  end
end
