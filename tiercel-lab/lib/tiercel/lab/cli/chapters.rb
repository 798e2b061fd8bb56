# frozen_string_literal: true

require_relative "../report"

module Tiercel
  module Lab
    module CLI
      # Combines reports: each becomes a section of one report, with its sentence, its command and its contents.
      module Chapters
        # Maximum number of rows of a table that stays unfolded. Longer tables are for reference.
        ROWS = 8

        module_function

        # @param target [Report::Document] receives the section
        # @param document [Report::Document]
        # @param title [String]
        # @param anchor [String]
        # @param note [String, nil] a sentence at the top
        # @param folded [Boolean] whether to fold everything but the sentence and some tables: those of an article, or
        #   one short table
        # @param article [Regexp, nil] titles of an article's tables
        def add(target, document, title:, anchor:, note: nil, folded: false, article: nil)
          target.section(title, anchor:) do |section|
            section.text(note) if note
            document.verdicts.each { |verdict| section.add(verdict) }
            rest = parts(document)
            next rest.each { |element| section.add(element) } unless folded
            shown = unfolded(rest.grep(Report::Table), article)
            shown.each { |table| section.add(table) }
            rest = rest.reject { |element| shown.any? { |table| table.equal?(element) } }
            section.fold(fold_title(rest), rest)
          end
        end

        # @param tables [Array<Report::Table>]
        # @return [Array<Report::Table>]
        def unfolded(tables, article)
          of_article = article ? tables.select { |table| table.title.match?(article) } : []
          of_article.any? ? of_article : tables.select { |table| table.rows.size <= ROWS }.first(1)
        end

        def parts(document)
          head = [Report::Document::Paragraph.new(document.subtitle), Report::Document::Code.new(document.command, nil)]
          head.select!(&:itself)
          document.sections.reduce(head) do |all, part|
            all + [Report::Document::Heading.new(part.title), *part.elements]
          end
        end

        def fold_title(elements)
          counts = { "table" => Report::Table, "chart" => Report::Chart }.filter_map do |noun, kind|
            count = elements.grep(kind).size
            "#{count} more #{noun}#{"s" if count > 1}" if count.positive?
          end
          counts.empty? ? "How it was measured" : counts.join(", ")
        end

        # The results without their slices, as data in the HTML page.
        #
        # @param results [Hash{String => Object}, nil]
        # @return [Hash{String => Object}, nil]
        def light(results)
          results&.merge("cells" => results["cells"].map { |cell| cell.except("slices") })
        end
      end
    end
  end
end
