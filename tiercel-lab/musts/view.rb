# frozen_string_literal: true

require "tiercel/lab/tables/view"

module Tiercel
  module Lab
    module Tables
      module Musts
        # Shows every target with its figure, and whether it holds on this machine.
        class View < Tables::View
          STATES = { "holds" => "holds", "fails" => "does not hold", "undecided" => "undecided",
                     "reported" => "no target",
                     "cannot_run" => "cannot run", "elsewhere" => "decided elsewhere" }.freeze

          # Words for a single target, and for several.
          WORDS = { "holds" => %w[holds hold], "fails" => ["does not hold", "do not hold"],
                    "undecided" => ["is undecided", "are undecided"],
                    "reported" => ["is reported beside one", "are reported beside others"],
                    "cannot_run" => ["cannot run"] * 2,
                    "elsewhere" => ["is decided by another command", "are decided by other commands"] }.freeze

          def title = "The project's targets"

          def sentence
            counts = targets.map { |target| target["state"] }.tally
            words = WORDS.filter_map do |state, (one, many)|
              count = counts[state] and "#{count} #{count == 1 ? one : many}"
            end
            "#{targets.size} #{targets.one? ? "target" : "targets"}: #{words.join(", ")}."
          end

          def fill(document)
            document.section("Targets") do |section|
              section.table("Musts: targets", command:,
                            header: ["target", "", "ratio", "at most", "what", "cell, or where it is decided"],
                            note: "Ratio: time by the baseline's, blocks paired, with its interval; a target holds, " \
                                  "or does not, when the whole interval says so.") do |table|
                targets.each { |target| fill_row(table, target) }
              end
              section.add(plot) if decided.any?
            end
          end

          private

          def targets = results.fetch("targets", [])

          def decided = targets.select { |target| target["figure"] }

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
                                                   margin: band(0.0))
            tones = { "holds" => :faster, "fails" => :slower }
            decided.each do |target|
              chart.row(target["id"], interval(target["figure"]), tones.fetch(target["state"], :cannot_tell))
            end
            chart
          end
        end
      end
    end
  end
end
