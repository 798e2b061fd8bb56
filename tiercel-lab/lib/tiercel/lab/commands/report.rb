# frozen_string_literal: true

require_relative "../command"
require_relative "../documents/compare"
require_relative "../terminal/report_table"

module Tiercel
  module Lab
    module Commands
      # Kept runs, rendered again.
      class RenderAgain < Command
        called "report", "Renders kept runs again: in the terminal, or with --html, --markdown, --csv."
        example "report results/20261120T180000Z-compare-4711.jsonl --html report.html"

        def accept(rest)
          raise UsageError, "report: name a file of results (a run prints its path last)" if rest.empty?
          @files = rest
        end

        def run
          documents = @files.map { |file| Results.load(file) }
          documents.each { |results| show(Documents::Compare.new(results, command: command_line(*results["run"]["arguments"])).build) }
          ExitCodes::OK
        end

        private

        def show(document)
          session.publish(document)
          return if settings.reports.any?
          out.puts document.verdicts.map(&:sentence), ""
          document.sections.each do |section|
            section.elements.grep(Report::Table).each { |table| out.puts Terminal::ReportTable.new(table).to_s(style), "" }
          end
        end
      end

      add RenderAgain
    end
  end
end
