# frozen_string_literal: true

require_relative "value_table"
require_relative "../documents/carried"
require_relative "../documents/leader"
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
          best = leader.first&.first
          [*configuration(best), "One cell alone:", "  #{alone(best || @cells.first)}", *undecided,
           "Every block of this run: #{@session.recorder.path}"]
        end

        # Only of one that is faster than all others.
        def configuration(best)
          return ["Which is the fastest overall cannot be told (#{leader.words { |cells| cells.first.arm.name }})."] \
            if leader.ahead.size > 1
          line = best&.arm&.contestant&.configuration
          line ? ["The fastest of these overall:", "  #{line}"] : []
        end

        # How much longer it would take to tell.
        def undecided
          cells = @cells.select { |cell| cell.arm.row? && cell.summary&.verdict == :cannot_tell }
          return [] if cells.empty?
          needs = cells.filter_map { |cell| cell.summary.needs }
          ["Undecided: #{cells.size} of #{@cells.count { |cell| cell.arm.role == :contestant }}" \
           "#{"; --processes #{needs.max} would decide #{needs.size}" if needs.any?}" \
           "#{"; a quick run decides only what is clear" if needs.empty?}."]
        end

        def alone(cell)
          value = cell.comparison.value.name
          store = Documents::Carried.quoted(cell.arm.contestant.text)
          named = ["--value", value] if Values.known?(value)
          @command.command_line("--store", store, "--op", cell.arm.operation.name, *named,
                                *Documents::Carried.words(@session.recorder.document))
        end

        # By the geometric mean of the ratios, among those that were measured wherever anything was; its interval is of
        # the geometric means of the bounds.
        def leader
          @leader ||= begin
            rows = @cells.select { |cell| cell.arm.row? && cell.measured? && cell.arm.contestant.keeps? }
            by_name = rows.select { |cell| ratio(cell) }.group_by { |cell| cell.arm.name }.values
            most = by_name.map(&:size).max
            margins = rows.filter_map { |cell| cell.summary.margin }
            complete = by_name.select { |cells| cells.size == most }
            Documents::Leader.new(complete.to_h { |cells| [cells, overall(cells)] }, margin: margins.max || 0.0)
          end
        end

        def overall(cells)
          bounds = %i[estimate low high].map do |bound|
            Statistics.geometric_mean(cells.map { |cell| ratio(cell).public_send(bound) })
          end
          Statistics::Interval.new(*bounds)
        end

        def ratio(cell)
          cell.arm.role == :baseline ? Statistics::Interval.new(1.0, 1.0, 1.0) : cell.summary.ratio
        end
      end
    end
  end
end
