# frozen_string_literal: true

require_relative "../command"
require_relative "../documents/chapters"
require_relative "../documents/machines"

module Tiercel
  module Lab
    module Commands
      # Kept runs, rendered again; several in one report, side by side where they have cells in common.
      class RenderAgain < Command
        called "report",
               "Renders kept runs again: in the terminal, or with --html, --markdown, --csv; several side by side."
        example "report results/20261120T180000Z-compare-4711.jsonl --html report.html",
                "report laptop.json server.json --html machines.html"

        def accept(rest)
          raise UsageError, "report: name a file of results (a run prints its path last)" if rest.empty?
          @files = rest
        end

        def run
          return print_plan if settings.plan
          results = @files.map { |file| Results.load(file) }
          show(results.one? ? Documents::Chapters.document(results.first, program: @program) : joined(results))
          ExitCodes::OK
        end

        private

        def print_plan
          out.puts "Renders #{@files.join(", ")}; nothing is measured."
          ExitCodes::OK
        end

        def joined(results)
          Documents::Machines.new(results, command: command_line("report", *@arguments), program: @program).build
        end

        def show(document)
          files = settings.reports.values - [Settings::OUTPUT]
          files.any? ? session.publish(document) : publish(document)
        end
      end

      add RenderAgain
    end
  end
end
