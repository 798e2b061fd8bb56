# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    module Gate
      # Compares the figures of both sides for one cell. Each metric has a row with a verdict:
      #
      # - "regressed": an exact figure grew, or the time grew in both passes
      # - "not confirmed": the time grew in the first pass only
      # - "accepted": it regressed, and a commit or an option accepts the regression
      # - "improved", "same": within the margin; "new": only the head has the cell
      # - "cannot tell": there is no figure, or the interval reaches beyond the margin
      # - "wrong": the head's cell returned a wrong result, or raised an error that the base's did not raise
      module Judgement
        REGRESSED, NOT_CONFIRMED, ACCEPTED = "regressed", "not confirmed", "accepted"
        IMPROVED, SAME, NEW = "improved", "same", "new"
        CANNOT_TELL, WRONG = "cannot tell", "wrong"
        # A smaller difference is occasional work, such as a growing hash table or a cache being filled.
        LEAST = 0.1

        module_function

        # A figure is exact if all processes agree; any growth is then a regression. Otherwise the two ranges must be
        # further apart than they are wide.
        #
        # @param base [Array<Float>] figures of the base's processes
        # @param head [Array<Float>] figures of the head's processes
        # @param margin [Float, nil] nil: the figure fails no gate
        # @return [Hash{String => Object}]
        def exact(metric, base, head, margin:)
          spread = [base, head].map { |figures| figures.max - figures.min }.max
          up, down = head.min - base.max, base.min - head.max
          verdict = if margin && up > margin + spread && up >= LEAST then REGRESSED
                    elsif down > spread && down >= LEAST then IMPROVED
                    else SAME
                    end
          { "metric" => metric, "base" => base, "head" => head, "margin" => margin, "exact" => spread.zero?,
            "verdict" => verdict }
        end

        # @param passes [Array<Hash, nil>] one for the first pass, and one for a second pass if there was one. Each has
        #   "estimate", "low" and "high" of the head's time divided by the base's, and the same for the "mean"
        # @param margin [Float, nil] 0.05: 5 %; nil: the time cannot fail the gate
        # @return [Hash{String => Object}]
        def time(passes, margin:)
          first, again = passes
          { "metric" => Configuration::TIME, "ratio" => first, "again" => again, "margin" => margin,
            "verdict" => time_verdict(first, again, margin) }
        end

        # Returns whether the whole interval of the median, or of the mean, lies beyond the margin.
        def slower?(ratio, margin) = !margin.nil? && both(ratio).any? { |found| found["low"] > 1.0 + margin }

        # Returns whether both whole intervals, of the median and of the mean, lie within the margin.
        def within?(ratio, margin)
          !ratio.nil? && both(ratio).all? { |found| found["high"] <= 1.0 + margin.to_f }
        end

        def both(ratio) = [ratio, ratio&.fetch("mean", nil)].compact
        private_class_method :both

        def time_verdict(first, again, margin)
          return CANNOT_TELL unless first
          return slower?(again, margin) ? REGRESSED : NOT_CONFIRMED if slower?(first, margin)
          return IMPROVED if margin && both(first).all? { |found| found["estimate"] < 1.0 } &&
                             first["high"] < 1.0 / (1.0 + margin)
          margin.nil? || within?(first, margin) ? SAME : CANNOT_TELL
        end
        private_class_method :time_verdict

        # The row of a cell for which one side has no figures.
        #
        # @param base [Hash{String => Object}] an outcome
        # @param head [Hash{String => Object}]
        # @return [Hash{String => Object}, nil] nil if both sides have figures
        def status(base, head)
          sound = [base, head].map { |outcome| Engine::Outcome.measured?(outcome) }
          return if sound.all?
          verdict = if sound.last then NEW
                    elsif sound.first || Engine::Outcome::FAULTS.include?(head["status"]) then WRONG
                    else CANNOT_TELL
                    end
          reason = verdict == NEW ? "the base: #{Engine::Outcome.words(base)}" : Engine::Outcome.words(head)
          { "metric" => "values", "verdict" => verdict, "reason" => reason }
        end
      end

      # Accepts intended regressions. A commit of the change says `Accept-Regression: CELL`, optionally with a reason
      # after a dash. After the merge the commit belongs to the base, so the line can stay.
      class Acceptance
        TRAILER = "Accept-Regression"

        # @param texts [Array<String>] cells, with or without reasons
        def initialize(texts)
          @texts = texts
        end

        # @param rows [Array<Hash{String => Object}>] see {Judgement}
        # @return [Array<Hash{String => Object}>] the rows; an accepted one has "accepted"
        def apply(rows)
          rows.map do |row|
            accepted = @texts.find { |text| of?(text, row["cell"]) }
            next row unless accepted && row["verdict"] == Judgement::REGRESSED
            row.merge("verdict" => Judgement::ACCEPTED, "reason" => accepted)
          end
        end

        private

        def of?(text, cell) = text == cell || text.match?(/\A#{Regexp.escape(cell)}\s+(-|--|\u2013|\u2014)\s/)
      end

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
            section.text(accept) if accept && count(Judgement::REGRESSED).positive?
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
          super.merge("Revision" => sides.map { |side| "#{side["name"]} #{side["sha"].to_s[0, 12]}" }.join(", "))
        end

        private

        def noun = "Gate"

        # Instructions for accepting figures that grew.
        def accept = ACCEPT

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
            section.text(accept) if accept && count(Judgement::REGRESSED).positive?
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
          columns_table("#{noun}: verdicts", rows, columns, command:)
        end

        def add_times(document)
          document.section("Time") do |section|
            section.add(cell_table("#{noun}: times", cells, { "cell" => :name, "median" => :time, "ratio" => :ratio }))
            heads = cells(role: "contestant")
            baseline = sides.one? ? "reference work" : "base"
            plot = forest("#{noun}: by #{baseline}", heads, baseline:) and section.add(plot)
          end
        end

        def add_profiles(document)
          file = ->(row) { row["file"] ? File.basename(row["file"]) : missing(row) }
          columns = { "cell" => "cell", "side" => "side", "file for the profiler's viewer" => file }
          document.section("Where the time goes") do |section|
            section.add(columns_table("#{noun}: profiles", rows("profiles"), columns))
          end
        end

        def add_sides(document)
          document.section("What was compared") do |section|
            columns = { "side" => "name", "what" => "text", "revision" => ->(side) { side["sha"].to_s[0, 12] },
                        "title" => "title" }
            section.add(columns_table("#{noun}: the sides", sides, columns))
          end
        end
      end
    end
  end
end
