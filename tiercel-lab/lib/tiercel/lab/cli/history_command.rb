# frozen_string_literal: true

require_relative "../history"
require_relative "command"

module Tiercel
  module Lab
    module CLI
      # Shows results over time, and alerts.
      class HistoryCommand < Command
        FACTS = Facts.new(
          name: "history", groups: Settings::OUTPUTS,
          summary: "Results over time: steps, the revisions that made them, alerts.",
          examples: ["history results --html history.html", "history results --since 2026-10-01",
                     "history results --least 0.05 --runs 30"]
        )

        def facts = FACTS

        def perform
          archive = History::Archive.new(@folder, since: @since)
          changes = History::Changes.new(archive.series, **{ least: @least, runs: @runs }.compact)
          @document = History::View.new(archive, changes, command: command_line(name, *@arguments)).build
          publish
          changes.alerts.any? ? ExitCodes::DOES_NOT_HOLD : ExitCodes::OK
        end

        private

        def usage = command_line(name, "DIR [options]")

        def options(parser)
          parser.on("--since WHEN", "only runs since a date (2026-10-01) or a revision") { |text| @since = text }
          parser.on("--least SHARE", Float, "smallest increase of an alert (#{History::Changes::LEAST})") do |share|
            raise UsageError, "--least #{share}: expected 0 or more" if share.negative?
            @least = share
          end
          parser.on("--runs N", Integer, "alerts are steps in the last N runs (#{History::Changes::RUNS})") do |runs|
            raise UsageError, "--runs #{runs}: expected 1 or more" unless runs.positive?
            @runs = runs
          end
        end

        def accept(rest)
          raise UsageError, "history: name one folder of results" unless rest.size == 1
          @folder = rest.first
        end
      end
    end
  end
end
