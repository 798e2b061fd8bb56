# frozen_string_literal: true

require_relative "../../tables"
require_relative "../chapters"
require_relative "../exit_codes"
require_relative "part"

module Tiercel
  module Lab
    module CLI
      module All
        # The report of `lab all`: the answer, the findings, then a chapter for each table. A chapter shows a sentence
        # and the tables of its article (or one short table); the rest is folded. An incomplete table shows the reason
        # and its results so far.
        class View < Tables::View
          # Names of tables that are not ordinary words.
          NAMES = { "sqlite" => "SQLite", "http" => "HTTP" }.freeze
          # Maximum number of findings.
          MOST = 7

          def title = "Cache stores: every table"

          def subtitle
            how = "Full form; what is computed says so"
            how = "Quick form: each table varies one factor from its default and takes few levels" if quick?
            "#{parts.size} tables in #{Report::Format.minutes(parts.sum(&:seconds))}. #{how}."
          end

          def build
            light = parts.map { |part| part.to_h.merge("results" => Chapters.light(part.results)) }
            document = Report::Document.new(title:, subtitle:, command:, data: results.merge("parts" => light),
                                            environment:)
            document.answer = answer&.element
            document.verdict(sentence, warnings:)
            found = parts.to_h { |part| [part, chapter(part)] }
            document.findings.concat(chosen_findings)
            found.each { |part, chapter| add(document, part, chapter) }
            overview(document)
            document
          end

          # The answer of the table that has one.
          def answer
            part = parts.find { |one| one.results&.key?("constraints") } or return
            Tables.fetch(part.name).view(part.results, command:).answer
          end

          # The worst exit code of the parts: wrong values, then missing figures, then targets that do not hold.
          #
          # @return [Integer] see {ExitCodes}
          def exit_code
            codes = parts.map { |part| part.complete? ? part.code : ExitCodes::UNDECIDED }
            worst = [ExitCodes::WRONG_VALUES, ExitCodes::UNDECIDED, ExitCodes::DOES_NOT_HOLD]
            worst.find { |code| codes.include?(code) } || ExitCodes::OK
          end

          private

          # @return [Array<Part>]
          def parts = @parts ||= results.fetch("parts", []).map { |record| Part.from(record) }

          def sentence
            complete = parts.count(&:complete?)
            return "All #{complete} tables are complete." if complete == parts.size
            "#{complete} of #{parts.size} tables are complete."
          end

          # The servers of all parts.
          def environment
            servers = parts.flat_map { |part| part.results ? part.results.fetch("servers", []) : [] }
                           .map { |server| server.values_at("name", "version").compact.join(" ") }.uniq
            servers.any? ? super.merge("Servers" => servers.join(", ")) : super
          end

          # The first finding of each table in their order, then the tables' other findings.
          def chosen_findings
            all = @findings.to_a
            by_turn = (0...all.map(&:size).max.to_i).flat_map { |turn| all.filter_map { |of_one| of_one[turn] } }
            chosen = by_turn.first(MOST)
            all.flatten.select { |finding| chosen.include?(finding) }
          end

          # The table's report, or the reason why there is none.
          def chapter(part)
            return part.note.to_s unless part.results
            view = Tables.fetch(part.name).view(part.results, command: command_of(part))
            view.build.tap { (@findings ||= []) << view.findings }
          rescue StandardError => e # an error in one table's report must not prevent the other reports
            [part.note, "its report could not be made: #{e.message.lines.first&.strip} (#{e.class})"].compact.join("; ")
          end

          def add(document, part, chapter)
            if chapter.is_a?(Report::Document)
              Chapters.add(document, chapter, title: heading(part, chapter), anchor: part.name, folded: true,
                                              article: article(part),
                                              note: ("Not complete: #{part.note}." unless part.complete?))
            else
              document.section(part.name, anchor: part.name) do |section|
                section.text("There is no table: #{chapter}")
                section.code(command_of(part))
              end
            end
          end

          def article(part)
            view = Tables.fetch(part.name).view(part.results, command:)
            view.class.article if view.class.respond_to?(:article)
          end

          def overview(document)
            document.section("How long it took") do |section|
              table = Report::Table.new("All: tables", header: %w[table took state], command:)
              parts.each { |part| table.row(part.name, Report::Format.minutes(part.seconds), part.state) }
              section.fold("#{parts.size} tables", [table])
            end
          end

          def command_of(part) = Tables.command_line(part.name, part.arguments, command[/\A(.*?) all\b/, 1] || command)

          # Some titles already begin with the table's name.
          def heading(part, chapter)
            return chapter.title if Report.slug(chapter.title).start_with?(part.name)
            name = NAMES.fetch(part.name) { part.name.tr("-", " ").capitalize }
            "#{name}: #{chapter.title.sub(/\A[A-Z](?=[a-z ])/, &:downcase)}"
          end
        end
      end
    end
  end
end
