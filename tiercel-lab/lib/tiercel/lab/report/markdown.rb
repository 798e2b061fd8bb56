# frozen_string_literal: true

module Tiercel::Lab
  module Report
    # A document or a table as GitHub-flavoured Markdown, for pull requests.
    module Markdown
      module_function

      # @param report [Document, Table]
      # @param folds [Boolean] whether to include the folded parts of a document
      # @return [String] ends with a newline
      def render(report, folds: true)
        case report
        when Document then document(report, folds)
        when Table then table(report, heading: false)
        else raise ArgumentError, "expected a Document or a Table, got #{report.class}"
        end
      end

      def document(document, folds)
        parts = ["# #{document.title}", document.subtitle]
        parts << answer_text(document.answer) if document.answer
        parts.concat(document.verdicts.map { |verdict| verdict_text(verdict) })
        parts << document.findings.map { |finding| "- #{finding.text}" }.join("\n")
        parts << document.environment.map { |name, value| "- #{name}: #{escape(value)}" }.join("\n")
        parts << fence(document.command) if document.command
        document.sections.each do |section|
          next if !folds && section.elements.all?(Document::Fold)
          parts << "## #{section.title}"
          shown = folds ? section.elements : section.elements.grep_v(Document::Fold)
          parts.concat(shown.map { |element| element_text(element) })
        end
        "#{parts.compact.reject(&:empty?).map(&:strip).join("\n\n")}\n"
      end

      def answer_text(answer)
        candidates = answer.candidates.map do |name, cost, memory, configuration|
          "- #{escape(name)}: #{cost}, #{memory}#{" (`#{configuration}`)" if configuration}"
        end
        changes = answer.changes.map { |change| "- What would change it: #{escape(change)}" }
        ["**#{answer.sentence}**", "#{answer.conditions}.", candidates.join("\n"), answer.notes.join(" "),
         changes.join("\n")].reject(&:empty?).join("\n\n")
      end

      def verdict_text(verdict)
        lines = ["**#{verdict.sentence}**"]
        lines.concat(verdict.warnings.map { |warning| "- Warning: #{warning}" })
        lines.join("\n")
      end

      def element_text(element)
        case element
        when Table then table(element)
        when Chart then table(element.table)
        when Document::Code then [element.title, fence(element.text)].compact.join("\n\n")
        when Document::Heading then "### #{element.text}"
        when Document::Verdict then verdict_text(element)
        when Document::Fold then element.elements.map { |inner| element_text(inner) }.join("\n\n")
        else element.text
        end
      end

      def table(table, heading: true)
        lines = []
        lines.push("### #{table.title}", "") if heading
        lines.push(table.note, "") if table.note
        lines.push("Noise floor: #{table.floor}.", "") if table.floor
        lines << row_text(table.header.map { |text| escape(text) })
        lines << row_text(table.header.each_index.map { |column| table.numeric?(column) ? "---:" : "---" })
        lines.concat(table.rows.map { |row| row_text(row.map { |cell| cell_text(table, cell) }) })
        table.footnotes.each_with_index { |note, index| lines.push("", "[#{index + 1}] #{note}") }
        lines.push("", fence(table.command)) if table.command
        "#{lines.join("\n")}\n"
      end

      def row_text(cells) = "| #{cells.join(" | ")} |"

      def cell_text(table, cell)
        number = table.footnote(cell)
        text = escape(cell.to_s)
        text = "n/a: #{text}#{" (`#{cell.note}`)" if cell.note}" if cell.kind == :missing
        number ? "#{text} [#{number}]" : text
      end

      def fence(text) = "```\n#{text}\n```"

      def escape(text) = text.to_s.gsub("\\", "\\\\\\\\").gsub("|", "\\|").gsub("<", "&lt;").gsub(/\s*\n\s*/, " ")

      private_class_method :document, :answer_text, :verdict_text, :element_text, :table, :row_text, :cell_text,
                           :fence, :escape
    end

    # Tables as comma-separated values (RFC 4180, with line feeds).
    module Csv
      HEADER = %w[table row column value low high unit note].freeze

      module_function

      # A line for each cell, so that all tables fit into one file.
      #
      # @param document [Document]
      # @return [String]
      def render(document) = lines([HEADER, *document.tables.flat_map { |table| cells(table) }])

      def cells(table)
        table.rows.flat_map do |row|
          row.each_with_index.drop(1).map do |cell, column|
            [table.title, row.first.to_s, table.header[column], *cell.data, cell.unit, cell.note]
          end
        end
      end

      def lines(rows) = rows.map { |row| "#{row.map { |field| quote(field) }.join(",")}\n" }.join

      def quote(field)
        text = field.to_s
        text.match?(/[",\r\n]/) ? %("#{text.gsub('"', '""')}") : text
      end

      private_class_method :cells, :lines, :quote
    end
  end
end
