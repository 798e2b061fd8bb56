# frozen_string_literal: true

require_relative "figures"
require_relative "table"

module Tiercel
  module Lab
    module Terminal
      # The targets, one a row.
      class MustsReport
        STATES = { holds: ["holds", :green], fails: ["DOES NOT HOLD", :red], undecided: ["undecided", :grey],
                   cannot_run: ["cannot run", :grey], elsewhere: ["see", :grey] }.freeze

        # @param outcomes [Hash{Target => Target::Outcome}]
        # @param session [Session]
        def initialize(outcomes, session:)
          @outcomes = outcomes
          @session = session
        end

        # @param style [Style]
        # @return [String]
        def to_s(style = Style.new(nil))
          [sentence, "", @session.machine, "ratio: time by the baseline's, blocks paired [95 % interval]; a target " \
           "holds, or does not, when the whole interval says so.", "", table.to_s(style), *notes,
           "Every block of this run: #{@session.recorder.path}"].join("\n")
        end

        private

        WORDS = { holds: "hold", fails: "do not hold", undecided: "undecided", cannot_run: "cannot run",
                  elsewhere: "decided by other commands" }.freeze
        private_constant :WORDS

        def sentence
          counts = @outcomes.each_value.map(&:state).tally
          "#{@outcomes.size} targets: " \
          "#{WORDS.filter_map { |state, words| "#{counts[state]} #{words}" if counts[state] }.join(", ")}."
        end

        # Why some cannot run, each reason once.
        def notes
          stuck = @outcomes.select { |_target, outcome| outcome.state == :cannot_run }
          reasons = stuck.group_by { |_target, outcome| outcome.note }
          return [] if reasons.empty?
          ["Cannot run:", *reasons.map { |note, pairs| "  #{pairs.map { |target, _| target.id }.join(", ")}: #{note}" },
           ""]
        end

        def table
          table = Table.new([["target", :left], ["", :left], ["ratio", :left], ["at most", :right], ["what", :left],
                             ["cell", :left]])
          @outcomes.each { |target, outcome| add(table, target, outcome) }
          table
        end

        def add(table, target, outcome)
          name, colour = STATES.fetch(outcome.state)
          figure = outcome.figure ? Figures.ratio(outcome.figure) : ""
          bound = target.bound ? Figures.plain(target.bound) : ""
          cell = target.cell.empty? ? outcome.note : target.cell
          table.row([target.id, name, figure, bound, target.text, cell], colour:)
        end
      end
    end
  end
end
