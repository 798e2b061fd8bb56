# frozen_string_literal: true

require_relative "../engine"
require_relative "command"
require_relative "machines"

module Tiercel
  module Lab
    module CLI
      # Renders kept runs again. Several runs share one report, which compares their common cells.
      class ReportCommand < Command
        FACTS = Facts.new(
          name: "report", groups: Settings::OUTPUTS,
          summary: "Renders kept runs again, one alone or several side by side.",
          examples: ["report 20261120T180000Z-compare-4711.jsonl --html report.html",
                     "report laptop.json server.json --html machines.html"]
        )

        def facts = FACTS

        def perform
          results = @files.map { |file| Engine::Results.load(file) }
          @document = results.one? ? CLI.document(results.first, program: @program) : joined(results)
          publish(path: (@files.first if results.one?))
          ExitCodes::OK
        end

        private

        def usage = command_line(name, "FILE... [options]")

        def accept(rest)
          raise UsageError, "report: name a file of results (a run prints its path last)" if rest.empty?
          @files = rest
        end

        def joined(results)
          Machines.new(results, command: command_line(name, *@arguments), program: @program).build
        end
      end
    end
  end
end
