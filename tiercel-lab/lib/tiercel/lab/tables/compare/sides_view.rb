# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Compare
        # Shows two sides against each other, or one side against an earlier run.
        class SidesView < Tables::View
          COLUMNS = { "what" => :label, "A" => :a_time, "B" => ->(row) { time(row.b) }, "ratio B / A" => :ratio_cell,
                      "verdict" => :verdict_of, "objects" => ->(row) { change(row, "allocations") },
                      "bytes" => ->(row) { change(row, "stored_bytes") } }.freeze

          # One comparison of a run: the cell of A (nil if A is a saved run), the cell of B, B's cell of the second
          # pass, and the figures of the saved run.
          Row = Struct.new(:a, :b, :again, :saved) do
            def ratio = saved ? saved["ratio"] : b.dig("summary", "ratio")
            def verdict = saved ? saved["verdict"] : b.dig("summary", "verdict")

            # Returns whether both passes found B slower. Only a repeated result proves a regression.
            def confirmed? = verdict == "slower" && again&.dig("summary", "verdict") == "slower"
          end

          # @param sides [Array<Hash>] see {Side#describe}
          # @return [Array<String>] how they are called
          def self.names_of(sides) = sides.map { |side| side["text"] == "." ? "this checkout" : side["text"] }

          def title = "#{names.first} against #{names.last}"

          def tone
            return :slower if confirmed.any? || (quick? && tally["slower"])
            return :faster if tally["faster"] && !tally["slower"]
            tally.keys == ["same"] ? :same : :cannot_tell
          end

          def sentence
            return "Nothing could be measured." if compared.none?(&:ratio)
            counts = tally.slice("slower", "faster", "uneven", "same", "cannot_tell").map do |word, count|
              "#{word.tr("_", " ")} in #{count}"
            end
            most = "; #{extreme_words}" if extreme
            "#{names.last} against #{names.first}: #{counts.join(", ")} of #{compared.size} cells#{most}.#{repeated}"
          end

          def fill(document)
            document.section("Time") { |section| add_times(section) }
            document.section("What was compared") { |section| add_sides(section) }
          end

          # @return [Array<Row>]
          def compared
            @compared ||= saved? ? saved_rows : interleaved_rows
          end

          # @return [Array<Row>] regressions that were found twice
          def confirmed = compared.select(&:confirmed?)

          private

          def sides = rows("sides")

          def saved? = !notes("sides")["baseline"].nil?

          def names
            own = SidesView.names_of(sides)
            saved? ? [File.basename(notes("sides")["baseline"]), *own] : own
          end

          def saved_rows
            by_cell = rows("baseline").to_h { |row| [row["cell"], row] }
            cells(role: "baseline").map { |cell| Row.new(nil, cell, nil, by_cell[cell["id"]]) }
          end

          # A cell with a second pass is recorded twice.
          def interleaved_rows
            groups = results["cells"].group_by { |cell| cell["id"] }
            baselines, others = %w[baseline contestant].map do |role|
              groups.values.select { |cells| cells.first["role"] == role }
            end
            baselines.zip(others).filter_map { |a, b| Row.new(a.first, b.first, b[1], nil) if b }
          end

          def tally = compared.map(&:verdict).tally

          def extreme
            compared.select { |row| %w[slower faster].include?(row.verdict) }.max_by do |row|
              Math.log(row.ratio["estimate"]).abs
            end
          end

          def extreme_words
            ratio = Report::Cell.interval(interval(extreme.ratio), unit: "x")
            "largest estimate: #{label(extreme)} takes #{ratio} the time"
          end

          def repeated
            passes = compared.select(&:again)
            return "" if passes.empty?
            " A second pass found #{confirmed.size} of #{passes.size} slower again."
          end

          def add_times(section)
            section.text(method_words)
            section.add(columns_table("Compare: A is #{names.first}, B is #{names.last}", compared, COLUMNS,
                                      raw: method(:blocks_of)))
            plot = ratios and section.add(plot)
          end

          def method_words
            if saved?
              return "B was measured now, A is of an earlier run: they are not interleaved, so a difference may be " \
                     "the machine's."
            end
            "A and B in turn and back again, in fresh processes; the noise floor is A against itself, once more in a " \
              "process of its own where the sides have processes of their own. Objects and bytes are counted " \
              "exactly: any change is one."
          end

          def blocks_of(row)
            { "A" => row.a, "B" => row.b }.select { |_side, cell| cell && measured?(cell) }
                                          .to_h { |side, cell| ["#{side}: #{label(row)}", block_us(cell)] }
          end

          def ratio_cell(row) = figure(interval(row.ratio), "x", muted: row.verdict == "cannot_tell")

          def a_time(row)
            return time(row.a) if row.a
            row.saved ? us(row.saved["then"]) : Report::Cell.missing("not in the file")
          end

          def verdict_of(row)
            return verdict(row.b) unless row.saved || row.again
            return "" unless row.verdict
            return row.verdict.to_sym unless row.again
            found = row.confirmed? ? "found it slower again." : "did not find it again: not confirmed."
            Report::Cell.verdict(row.verdict.to_sym, note: "A second, fresh pass #{found}")
          end

          def change(row, fact)
            before = row.a ? row.a.dig("exact", fact) : row.saved&.fetch(fact)
            after = row.b.dig("exact", fact)
            return Report::Cell.count(after) if before == after
            [before, after].map { |figure| figure ? Report::Cell.count(figure).to_s : "?" }.join(" \u2192 ")
          end

          # Names a row by the properties in which rows differ.
          def label(row)
            shown = [row.b["operation"], row.b["value"]].join(" ")
            sides.first&.fetch("kind") == "a store" ? shown : "#{shown}, #{row.b["contestant"]["text"]}"
          end

          def ratios
            drawn = compared.select(&:ratio)
            return if drawn.empty?
            margin = drawn.map { |row| row.saved ? row.saved["threshold"] : margin(row.b) }.max
            plot = Report::Charts::ForestPlot.new("Compare: ratios", baseline: names.first, margin: band(margin))
            drawn.each { |row| plot.row(label(row), interval(row.ratio), row.verdict.to_sym) }
            plot
          end

          def add_sides(section)
            section.table("Compare: the sides", header: ["", "what", "revision", "title"]) do |table|
              table.row("A", notes("sides")["baseline"], "", "an earlier run") if saved?
              sides.each_with_index do |side, index|
                table.row(saved? ? "B" : %w[A B][index], side["text"], side["sha"].to_s[0, 12],
                          side["title"] || side["kind"])
              end
            end
          end
        end
      end
    end
  end
end
