# frozen_string_literal: true

require_relative "document"
require_relative "terminal/style"
require_relative "terminal/table_view"

module Tiercel
  module Lab
    module Report
      # Renders a document for the terminal: its answer and sentence, then every table, but no charts.
      module Terminal
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
end
