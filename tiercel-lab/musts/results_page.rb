# frozen_string_literal: true

require "tiercel/lab/cli"

module Tiercel
  module Lab
    module Tables
      module Musts
        # Publishes a kept run of `all`: a few of its tables between two marks of docs/results.md. These are the tables
        # that the text before the marks names in quotes.
        class ResultsPage
          MARKS = ["<!-- rake lab:results -->", "<!-- end of rake lab:results -->"].freeze

          # The most lines of a section of results.md.
          LONGEST = 60

          # Options that name files of the measuring machine, and the folder of kept runs.
          FILES = /--(?:results|html|json|csv)[ =]\S+ ?/
          FOLDER = %r{[^\s`]*/(?=[\w.-]+\.jsonl)}

          # @param results [Hash{String => Object}] see {Engine::Results.load}
          # @raise [UsageError] if it is a run of another command, or a quick run
          def initialize(results)
            command, protocol = results["run"].values_at("command", "protocol")
            raise UsageError, "a run of #{command}, expected one of all" unless command == CLI::All::NAME
            raise UsageError, "a quick run, expected a full one" if Engine::Protocol.from(protocol).quick?
            arguments = results["run"]["arguments"].join(" ").gsub(FILES, "").split
            @results = results.merge("run" => results["run"].merge("arguments" => arguments))
            @document = CLI.document(@results, program: "bin/lab")
          end

          # @param docs [String] the folder with results.md
          # @return [String] the written file
          def write(docs)
            page = File.join(docs, "results.md")
            File.write(page, filled(File.read(page)))
            page
          end

          private

          def filled(text)
            before, mark, rest = text.partition(MARKS.first)
            mark, after = rest.partition(MARKS.last).drop(1) unless mark.empty?
            raise UsageError, "results.md: expected #{MARKS.join(" and ")}" if mark.empty?
            [before, MARKS.first, "\n", short(quoted(before)), MARKS.last, after].join
          end

          # @return [Array<String>] titles of tables or groups, or how they begin
          def quoted(text) = text.scan(/"([A-Z][^"]+)"/).map { |(name)| name.tr("\n", " ") }

          # The page has a title of its own.
          def short(names)
            report = Report::Markdown.render(@document, folds: false).gsub(FOLDER, "")
            groups = report.sub(/\A# .*\n/, "").split(/^(?=## )/)
            text = groups.map { |group| tables(group, names).join }.join
            "\nGems: #{gems}.\n#{text}\n"
          end

          # @return [Array<String>] the introduction of a group and its named tables, or all if the group is named
          def tables(group, names)
            introduction, *tables = group.split(/^(?=### )/)
            tables.select! { |table| named?(table, names) } unless named?(introduction, names)
            [introduction, *tables.map { |table| shortened(table) }]
          end

          def named?(section, names) = section.sub(/\A#+ /, "").start_with?(*names)

          def shortened(section)
            return section if section.lines.size <= LONGEST
            rows = section.lines.count { |line| line.start_with?("|") } - 2
            "#{section.lines.first}\n#{rows} rows: in the report of `bin/lab all`.\n\n"
          end

          # The measured gems of the lab's own bundle.
          def gems
            cells = @results["parts"].flat_map { |part| part.dig("results", "cells").to_a }
            names = ["activesupport", *cells.flat_map { |cell| cell.dig("contestant", "gems").to_a }].uniq
            @results["environment"]["gems"].slice(*names).map { |pair| pair.join(" ") }.join(", ")
          end
        end
      end
    end
  end
end
