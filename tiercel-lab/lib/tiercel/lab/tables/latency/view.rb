# frozen_string_literal: true

require_relative "../view"
require_relative "article"
require_relative "break_even"
require_relative "load_section"
require_relative "loop_row"

module Tiercel
  module Lab
    module Tables
      module Latency
        # The loop near and far, latency under load, and break-evens.
        class View < Tables::View
          article(/iterations\z|% of baseline\z/)

          BASELINE = "redis_cache_store"
          HEADER = ["store", "place", "round trip", "iterations", "real", "user", "system", "total",
                    "server CPU"].freeze

          def title = "What the way to the server costs"

          def subtitle
            facts = notes("loop")
            "#{facts["processes"]} processes, stores and places in turn and back again; " \
              "#{facts["value"] || "1,001 characters, as in the article"}; intervals over processes"
          end

          def quick_words
            quick? ? ["Quick: few distances, fewer iterations where one is slow, 100,000 computed from them."] : []
          end

          def sentence
            return "Nothing could be measured." unless baseline
            "One iteration (exist? and fetch) takes #{baseline.words} with #{baseline["store"]} " \
            "(#{baseline["place"]})#{[farthest, nearest].compact.map { |row| "; #{by_baseline(row)}" }.join}."
          end

          def findings
            far = baseline && farthest
            told = far && told_of(far)
            return [] unless told && told.verdict(far, baseline) == :slower
            [Finding.new("#{far["place"].sub("+", "")} away a read from #{far["store"]} takes " \
                         "#{told.time_words(far, baseline, "one on this machine")}.",
                         "Latency: #{iterations_words} iterations")]
          end

          def fill(document)
            document.section("The loop") { |section| add_loop(section) }
            document.section("100,000 iterations") { |section| add_long(section) }
            LoadSection.new(rows("load"), notes("load"), command:).add_to(document)
            BreakEven.new(self, loop_rows).add_to(document)
            document.section("The article's own figures") { |section| section.add(Article.table) }
          end

          # @return [Array<LoopRow>]
          def loop_rows = @loop_rows ||= rows("loop").map { |row| LoopRow.new(row) }

          # The baseline: nearby Redis, as in the article, or else the first row.
          #
          # @return [LoopRow, nil]
          def baseline
            near = loop_rows.select { |row| row.figures? && row["kind"] == "direct" && row["medium"] != "process" }
            near.find { |row| row["store"] == BASELINE } || near.first || loop_rows.find(&:figures?)
          end

          private

          def farthest
            loop_rows.reverse_each.find do |row|
              row.figures? && !row.equal?(baseline) && row["kind"] == "distance" && row["store"] == baseline["store"]
            end
          end

          # Tiercel in process, where it was asked for.
          def nearest
            loop_rows.find do |row|
              row.figures? && !row.equal?(baseline) && row["medium"] == "process" && row["store"].start_with?("tiercel")
            end
          end

          def by_baseline(row)
            told = told_of(row)
            time = told ? told.time_words(row, baseline, baseline["store"]) : "not compared"
            "with #{row["store"]} (#{row["place"]}) #{time} (#{row.words})"
          end

          # @return [Leader, nil] of a row and the baseline; nil where no runs of theirs took turns
          def told_of(row)
            ratio = row.ratio_to(baseline) or return
            Leader.new({ row => ratio, baseline => Statistics::Interval.new(1.0, 1.0, 1.0) },
                       margin: protocol.margin_for([:loopback]), equality: protocol.equality)
          end

          def iterations_words = Report::Format.number(notes("loop")["iterations"])

          def add_loop(section)
            section.text("`exist?` and `fetch` of one name that is there, #{iterations_words} times; " \
                         "seconds. The distance is made by a delay proxy on this machine; the round trip is what was " \
                         "measured through it. User, system and total are the client's CPU time; the server's is its " \
                         "own, without the proxy's.")
            section.table("Latency: #{iterations_words} iterations", header: HEADER, command:) do |table|
              loop_rows.each { |row| add_loop_row(table, row, notes("loop")["iterations"]) }
            end
            chart = chart_of_distance and section.add(chart)
          end

          def add_loop_row(table, row, count)
            return table.row(row["store"], row["place"], row.reason, *[""] * (HEADER.size - 3)) unless row.figures?
            note = "Computed from as many iterations as the third column says." if row["iterations"] < count
            cpu = row.cpu(count).map do |seconds|
              seconds ? Report::Cell.number(seconds, unit: "s", digits: 3) : "none"
            end
            table.row(row["store"], row["place"], row.round_trip, row["iterations"],
                      Report::Cell.interval(row.real(count), unit: "s", note:), *cpu)
            table.raw("#{row["store"]}, #{row["place"]}", row.seconds_per_iteration.flatten.map { |s| s * 1e6 },
                      unit: "us")
          end

          def chart_of_distance
            placed = loop_rows.select do |row|
              row.figures? && %w[direct distance].include?(row["kind"]) && row.round_trip_ms
            end
            stores = placed.group_by { |row| row["store"] }
            return if stores.none? { |_name, rows| rows.size > 1 }
            chart = Report::Charts::LineChart.new("Latency: one iteration by round trip", x: "measured round trip, ms",
                                                  y: "ms", x_scale: :log, y_scale: :log)
            stores.each { |name, rows| chart.series(name, rows.map { |row| [row.round_trip_ms, *row.milliseconds] }) }
            chart
          end

          def add_long(section)
            return section.text("No row has figures.") unless baseline
            count = notes("loop")["long_iterations"]
            section.table("Latency: time and % of baseline", command:,
                          header: ["configuration", "time", "how", "% of baseline"],
                          note: "#{Report::Format.number(count)} iterations. The baseline is #{baseline["store"]} " \
                                "(#{baseline["place"]}); the article's was Redis on the same machine. Percentages " \
                                "are of runs that took turns.") do |table|
              loop_rows.each { |row| add_long_row(table, row, count) }
            end
          end

          def add_long_row(table, row, count)
            name = "#{row["store"]}, #{row["place"]}"
            return table.row(name, row.reason, "", "") unless row.figures?
            long = row["long"]
            time = Report::Cell.number(long["real"], unit: "s") if long
            time ||= Report::Cell.interval(row.real(count), unit: "s")
            how = long ? "measured" : "computed from #{Report::Format.number(row["iterations"])}"
            ratio = row.ratio_to(baseline)&.map { |value| value * 100 }
            table.row(name, time, how, row.equal?(baseline) ? "baseline" : Report::Cell.interval(ratio, unit: "%"))
          end
        end
      end
    end
  end
end
