# frozen_string_literal: true

require_relative "chapters"
require_relative "table"
require_relative "../suite/part"

module Tiercel
  module Lab
    module Documents
      # The report of `lab all`: an overview, then a section for each table. A table that did not come to its end says
      # why, and shows what it had.
      class Suite < Table
        # How tables are called whose names are not words.
        NAMES = { "sqlite" => "SQLite", "http" => "HTTP" }.freeze

        def title = "Cache stores: every table"

        def subtitle
          how = "Full form; what is computed says so"
          how = "Quick form: each table varies one factor from its default and takes few levels" if quick?
          "#{parts.size} tables in #{Terminal::Figures.duration(parts.sum(&:seconds))}. #{how}."
        end

        def build
          light = parts.map { |part| part.to_h.merge("results" => Chapters.light(part.results)) }
          document = Report::Document.new(title:, subtitle:, command:, data: results.merge("parts" => light),
                                          environment:)
          fill(document)
          document
        end

        def fill(document)
          chapters = parts.to_h { |part| [part, chapter(part)] }
          document.verdict(sentence, tone: :plain, warnings:)
          overview(document, chapters)
          chapters.each { |part, found| add(document, part, found) }
        end

        # @return [Array<Lab::Suite::Part>]
        def parts = @parts ||= results.fetch("parts", []).map { |record| Lab::Suite::Part.from(record) }

        private

        def sentence
          complete = parts.count(&:complete?)
          if complete == parts.size
            "All #{complete} tables are complete."
          else
            "#{complete} of #{parts.size} tables are complete."
          end
        end

        # Servers are those of all parts.
        def environment
          servers = parts.flat_map { |part| part.results ? part.results.fetch("servers", []) : [] }
                         .map { |server| server.values_at("name", "version").compact.join(" ") }.uniq
          servers.any? ? super.merge("Servers" => servers.join(", ")) : super
        end

        def overview(document, chapters)
          document.section("Overview") do |section|
            section.table("All: what each table says", header: ["table", "what it says", "took", "state"],
                          command:) do |table|
              chapters.each do |part, found|
                table.row(part.name, says(found), Terminal::Figures.duration(part.seconds),
                          part.complete? ? "complete" : part.state)
              end
            end
          end
        end

        def says(found) = found.is_a?(Report::Document) ? found.verdicts.map(&:sentence).join(" ") : found.to_s

        # The part's report, or why there is none.
        def chapter(part)
          return part.note.to_s unless part.results
          Chapters.command(part.name, part.arguments, program).then do |line|
            Commands.fetch(part.name).document(part.results, command: line)
          end
        rescue StandardError => e # one table's report must not cost the others theirs
          [part.note, "its report could not be made: #{e.message.lines.first&.strip} (#{e.class})"].compact.join("; ")
        end

        def add(document, part, found)
          if found.is_a?(Report::Document)
            section = Chapters.add(document, found, title: heading(part, found), anchor: part.name)
            unless part.complete?
              section.elements.unshift(Report::Document::Paragraph.new("Not complete: #{part.note}."))
            end
          else
            document.section(part.name, anchor: part.name) do |section|
              section.text("There is no table: #{found}")
              section.code(Chapters.command(part.name, part.arguments, program))
            end
          end
        end

        # Some titles begin with the name already.
        def heading(part, found)
          return found.title if Report.slug(found.title).start_with?(part.name)
          name = NAMES.fetch(part.name) { part.name.tr("-", " ").capitalize }
          "#{name}: #{found.title.sub(/\A[A-Z](?=[a-z ])/, &:downcase)}"
        end

        def program = command[/\A(.*?) all\b/, 1] || command
      end
    end
  end
end
