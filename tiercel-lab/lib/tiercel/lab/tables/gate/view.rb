# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Gate
        # Shows the verdicts of a gate, failures first.
        class View < Tables::View
          TONES = { Judgement::WRONG => :slower, Judgement::REGRESSED => :slower,
                    Judgement::CANNOT_TELL => :cannot_tell }.freeze
          # Rows are sorted by their verdicts in this order.
          ORDER = [Judgement::WRONG, Judgement::REGRESSED, Judgement::CANNOT_TELL, Judgement::NOT_CONFIRMED,
                   Judgement::ACCEPTED, Judgement::NEW, Judgement::IMPROVED, Judgement::SAME].freeze
          LEGEND = "Exact figures gate any growth beyond their margin; times where the whole interval of head by " \
                   "base, of the median or of the mean, is beyond its margin in two passes, both sides in turn in " \
                   "fresh processes."
          ACCEPT = "Where that is wanted, say so in a commit of the change, with the reason: the line " \
                   "`Accept-Regression: CELL - REASON` at the end of its message."

          def title
            return "Recorded for the history: #{side_words("head")}" if sides.one?
            "Gate: #{side_words("head")} against #{side_words("base")}"
          end

          def tone = TONES.find { |verdict, _tone| count(verdict).positive? }&.last || :same

          def sentence
            return "Recorded: #{cells(role: "contestant").size} cells, by the reference work." if sides.one?
            return "Passed: #{notes("gate")["reason"]}." if gate_rows.empty?
            failing = gate_rows.select { |row| [Judgement::WRONG, Judgement::REGRESSED].include?(row["verdict"]) }
            return passed if failing.empty?
            more = failing.size - 1
            "Failed: #{failing.first["cell"]}: #{failing.first["words"]}#{"; #{more} more" if more.positive?}."
          end

          def fill(document)
            add_verdicts(document)
            add_times(document) if cells.any?
            add_profiles(document) if rows("profiles").any?
            add_sides(document)
          end

          # A short report for a pull request.
          #
          # @return [Report::Document]
          def brief
            document = Report::Document.new(title:)
            document.verdict(sentence, tone:, warnings:)
            shown = gate_rows.reject { |row| row["verdict"] == Judgement::SAME }
            document.section("What changed") do |section|
              section.add(verdict_table(shown, command: nil)) if shown.any?
              same = gate_rows.size - shown.size
              section.text("#{same} of #{gate_rows.size} figures are the same, within their margins.")
              section.text(ACCEPT) if count(Judgement::REGRESSED).positive?
            end
            document.section("The same on your machine") { |section| section.code(here) }
            document
          end

          # @return [Array<Hash{String => Object}>] see {Judgement}, with "words"; failures first
          def gate_rows
            @gate_rows ||= rows("gate").map { |row| row.merge("words" => words(row)) }
                                       .sort_by.with_index { |row, index| [ORDER.index(row["verdict"]), index] }
          end

          def environment
            super.merge("Revision" => sides.map { |side| "#{side["name"]} #{side["sha"][0, 12]}" }.join(", "))
          end

          private

          def sides = rows("sides")

          def side_words(name)
            side = sides.find { |one| one["name"] == name } or return name
            side["text"] == "." ? "this checkout" : side["text"].sub(/\A(\h{12})\h{28}\z/, "\\1")
          end

          def count(verdict) = gate_rows.count { |row| row["verdict"] == verdict }

          def passed
            counts = ORDER.filter_map { |verdict| "#{verdict} #{count(verdict)}" if count(verdict).positive? }
            word = count(Judgement::CANNOT_TELL).positive? ? "Undecided" : "Passed"
            "#{word}: of #{gate_rows.size} figures of #{gate_rows.map { |row| row["cell"] }.uniq.size} cells: " \
              "#{counts.join(", ")}."
          end

          def words(row)
            case row["metric"]
            when "values" then "#{row["verdict"]}: #{row["reason"]}"
            when Configuration::TIME then time_words(row)
            else exact_words(row)
            end
          end

          def exact_words(row)
            base, head = row.values_at("base", "head").map { |figures| range(figures) }
            same = base == head
            "#{Configuration::EXACT.fetch(row["metric"])}: #{same ? head : "#{base} \u2192 #{head}"}#{because(row)}"
          end

          def time_words(row)
            return "time: cannot tell#{because(row)}" unless row["ratio"]
            second = row["again"] ? ", and again #{ratio_text(row["again"], row["margin"])}" : ""
            margin = row["margin"] ? " (margin #{Report::Format.percent(row["margin"])})" : ""
            "time: #{ratio_text(row["ratio"], row["margin"])} the base's#{second}#{margin}#{because(row)}"
          end

          def because(row) = row["reason"] ? "; #{row["verdict"]}: #{row["reason"]}" : ""

          # Adds the mean if it differs from the median.
          def ratio_text(ratio, margin)
            median, mean = [ratio, ratio["mean"]].map { |found| interval(found) }
            texts = [median, mean].compact.map { |found| Report::Cell.interval(found, unit: "x").to_s }
            apart = mean && Statistics::Verdict.apart?(median, mean, 1.0 + margin.to_f)
            apart ? texts.join(", by the mean ") : texts.first
          end

          def range(figures)
            figures.minmax.uniq.map { |figure| Report::Cell.count(figure).to_s }.join("\u2013")
          end

          def add_verdicts(document)
            document.section("Verdicts") do |section|
              section.text(LEGEND)
              section.text(ACCEPT) if count(Judgement::REGRESSED).positive?
              section.add(verdict_table(gate_rows)) if gate_rows.any?
            end
          end

          # The command to repeat the gate on another machine, without paths of the CI runner.
          def here
            base = sides.find { |side| side["name"] == "base" }
            ["bundle exec tiercel-lab gate", ("--base #{CommandLine.quote(base["text"])}" if base)].compact.join(" ")
          end

          def verdict_table(rows, command: self.command)
            columns = { "cell" => "cell", "figure" => "words", "verdict" => "verdict" }
            columns_table("Gate: verdicts", rows, columns, command:)
          end

          def add_times(document)
            document.section("Time") do |section|
              section.add(cell_table("Gate: times", cells, { "cell" => :name, "median" => :time, "ratio" => :ratio }))
              heads = cells(role: "contestant")
              baseline = sides.one? ? "reference work" : "base"
              plot = forest("Gate: by #{baseline}", heads, baseline:) and section.add(plot)
              groups = cells.group_by { |cell| cell["comparison"] }
              groups.each_value { |group| add_block_times(section, "Gate", group) }
            end
          end

          def add_profiles(document)
            file = ->(row) { row["file"] ? File.basename(row["file"]) : missing(row) }
            columns = { "cell" => "cell", "side" => "side", "file for the profiler's viewer" => file }
            document.section("Where the time goes") do |section|
              section.add(columns_table("Gate: profiles", rows("profiles"), columns))
            end
          end

          def add_sides(document)
            document.section("What was compared") do |section|
              columns = { "side" => "name", "what" => "text", "revision" => ->(side) { side["sha"][0, 12] },
                          "title" => "title" }
              section.add(columns_table("Gate: the sides", sides, columns))
            end
          end
        end
      end
    end
  end
end
