# frozen_string_literal: true

require_relative "value_table"
require_relative "../documents/carried"
require_relative "../statistics"

module Tiercel
  module Lab
    module Terminal
      # What `compare` prints: a sentence, the machine, a table for each value, and what to type next.
      class CompareReport
        LEGEND = "us: median of the blocks without garbage collection, whose mean cost a call stands beside it; " \
                 "ratio: time by the baseline's, blocks paired; [95 % intervals]."

        # @param cells [Array<Cell>]
        # @param session [Session]
        # @param command [Command]
        def initialize(cells, session:, command:)
          @cells = cells
          @session = session
          @command = command
        end

        # @param style [Style]
        # @return [String]
        def to_s(style = Style.new(nil))
          [@session.recorder.document.fetch("sentence"), "", @session.machine, LEGEND, *warnings, "", *tables(style),
           *advice].join("\n")
        end

        private

        def tables(style)
          @cells.group_by { |cell| cell.comparison.value }
                .map { |value, cells| "#{ValueTable.new(value, cells).to_s(style)}\n" }
        end

        def warnings = @session.recorder.document.fetch("warnings", [])

        def advice
          best = self.best
          configuration = best&.arm&.contestant&.configuration
          lines = configuration ? ["The fastest of these overall:", "  #{configuration}"] : []
          lines + ["One cell alone:", "  #{alone(best || @cells.first)}",
                   "Every block of this run: #{@session.recorder.path}"]
        end

        def alone(cell)
          value = cell.comparison.value.name
          store = Documents::Carried.quoted(cell.arm.contestant.text)
          named = ["--value", value] if Values.known?(value)
          @command.command_line("--store", store, "--op", cell.arm.operation.name, *named,
                                *Documents::Carried.words(@session.recorder.document))
        end

        # By the geometric mean of its times, among those measured wherever anything was.
        def best
          rows = @cells.select { |cell| cell.arm.row? && cell.measured? && cell.summary }
          by_name = rows.group_by { |cell| cell.arm.name }
          most = by_name.values.map(&:size).max
          by_name.values.select { |cells| cells.size == most }
                 .min_by { |cells| Statistics.geometric_mean(cells.map { |cell| cell.summary.ns.estimate }) }&.first
        end
      end
    end
  end
end
