# frozen_string_literal: true

require_relative "table"

module Tiercel
  module Lab
    module Documents
      # Every target with its figure, and whether it holds here.
      class Musts < Table
        STATES = { "holds" => "holds", "fails" => "does not hold", "undecided" => "undecided",
                   "cannot_run" => "cannot run", "elsewhere" => "decided elsewhere" }.freeze

        def title = "The project's targets"

        def fill(document)
          document.verdict(sentence, floor: worst_floor, warnings:)
          document.section("Targets") do |section|
            section.table("Musts: targets",
                          header: ["target", "", "ratio", "at most", "what", "cell, or where it is decided"],
                          command:) do |table|
              targets.each { |target| fill_row(table, target) }
            end
            section.add(plot) if decided.any?
          end
        end

        private

        def targets = results.fetch("targets", [])

        def decided = targets.select { |target| target["figure"] }

        def sentence
          counts = targets.map { |target| STATES.fetch(target["state"]) }.tally
          "#{targets.size} targets: #{counts.map { |words, count| "#{count} #{words}" }.join(", ")}."
        end

        def fill_row(table, target)
          table.row(target["id"], STATES.fetch(target["state"]), figure(target), target["bound"], target["text"],
                    [target["cell"], target["note"]].compact.reject(&:empty?).join("; "))
        end

        def figure(target)
          return "" unless target["figure"]
          Report::Cell.interval(interval(target["figure"]), unit: "x", muted: target["state"] == "undecided")
        end

        def plot
          chart = Report::Charts::ForestPlot.new("Musts: time by the baseline's", baseline: "the baseline of each",
                                                 floor: band(floors.max))
          decided.each { |target| chart.row(target["id"], interval(target["figure"]), tone(target["state"])) }
          chart
        end

        def floors
          [0.0, *results["cells"].filter_map { |cell| cell.dig("summary", "floor") if cell["role"] == "null" }]
        end

        def tone(state) = { "holds" => :faster, "fails" => :slower }.fetch(state, :cannot_tell)
      end
    end
  end
end
