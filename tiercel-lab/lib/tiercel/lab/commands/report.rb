# frozen_string_literal: true

require_relative "../command"

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
          @files.map { |file| Results.load(file) }.each { |results| show(document(results)) }
          ExitCodes::OK
        end

        private

        # Each command knows the report of its runs.
        def document(results)
          name, arguments = results["run"].values_at("command", "arguments")
          words = name == Commands::DEFAULT && (arguments.empty? || arguments.first.start_with?("-")) ? arguments : [name, *arguments]
          Commands.fetch(name).document(results, command: command_line(*words))
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
