# frozen_string_literal: true

require_relative "table"

module Tiercel
  module Lab
    module Documents
      # What the lab said of work that is known.
      class Selfcheck < Table
        # Of 20 recordings with planted work so many are to be found: 19, 95 %.
        FOUND_SHARE = 0.95
        # Fewer decide nothing.
        LEAST_RECORDINGS = 20
        FALSE_VERDICTS = %w[faster slower].freeze

        def title = "Selfcheck: are the lab's verdicts to be believed here?"

        def subtitle
          "#{super}; a difference counts beyond " \
          "#{Terminal::Figures.percent(notes("selfcheck").fetch("threshold", 0))}, fixed beforehand"
        end

        def fill(document)
          document.verdict(sentence, tone: :plain, warnings:)
          document.section("Verdicts") { |section| section.add(counts).add(plot) }
        end

        # @return [String] "holds", "fails", or "undecided" with too few recordings
        def state
          return "fails" if wrong.any? || overlooked.any? || kind("planted").size - found > allowed_misses
          %w[same planted].all? { |name| kind(name).size >= LEAST_RECORDINGS } ? "holds" : "undecided"
        end

        # @return [String] for {Target}
        def sentence
          "The same work was called different in #{wrong.size} of #{kind("same").size} recordings; 5 % more was " \
            "found in #{found} of #{kind("planted").size} and called the same in #{overlooked.size}."
        end

        private

        def kind(name) = rows("selfcheck").select { |row| row["kind"] == name }

        def wrong = kind("same").select { |row| FALSE_VERDICTS.include?(row["verdict"]) }

        def overlooked = kind("planted").select { |row| %w[faster same].include?(row["verdict"]) }

        def found = kind("planted").count { |row| row["verdict"] == "slower" }

        def allowed_misses = ([kind("planted").size, LEAST_RECORDINGS].max * (1 - FOUND_SHARE)).round

        def counts
          header = ["work", "recordings", "slower", "faster", "same", "cannot tell"]
          Report::Table.new("Selfcheck: verdicts", header:, command:).tap do |table|
            { "same" => "the same once more", "planted" => "5 % more" }.each do |name, words|
              verdicts = kind(name).map { |row| row["verdict"] }
              table.row(words, verdicts.size, *%w[slower faster same cannot_tell].map { |word| verdicts.count(word) })
            end
          end
        end

        def plot
          chart = Report::Charts::ForestPlot.new("Selfcheck: every recording", baseline: "the same work",
                                                 floor: band(notes("selfcheck").fetch("threshold", 0)))
          rows("selfcheck").select { |row| row["ratio"] }.each do |row|
            chart.row("#{row["kind"]} #{row["recording"] + 1}", interval(row["ratio"]), row["verdict"].to_sym)
          end
          chart
        end
      end
    end
  end
end
