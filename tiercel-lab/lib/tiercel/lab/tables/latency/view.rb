# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Latency
        # Shows the loop near and far, latency under load, and break-even points.
        class View < Tables::View
          article(/iterations\z|% of baseline\z/)

          BASELINE = "redis_cache_store"
          quick "Quick: few distances, fewer iterations where one is slow, 100,000 computed from them."

          # The article's own figures, of other machines. Source: Adam N. England, "Rails Benchmarking - Cache Store
          # Latency", 18 September 2015.
          EC2 = "EC2 m3.medium, us-east"
          ARTICLE = [["MacBook Pro of 2014", "memcached, local", 1_000, 0.244702, nil],
                     ["MacBook Pro of 2014", "MemCachier, from Kansas City to us-east", 1_000, 114.471950, nil],
                     [EC2, "memcached, local", 1_000, 0.419922, nil],
                     [EC2, "MemCachier", 1_000, 2.846208, nil],
                     [EC2, "ElastiCache memcached, cache.t2.micro", 1_000, 3.874526, nil],
                     [EC2, "Redis on Compose", 1_000, 1.862227, nil],
                     [EC2, "Redis, local", 100_000, 41.643664, 100],
                     [EC2, "memcached, local", 100_000, 42.674231, 102],
                     [EC2, "Redis on Compose", 100_000, 200.054559, 480],
                     [EC2, "ElastiCache memcached, cache.t2.micro", 100_000, 387.568663, 930]].freeze

          def title = "What the way to the server costs"

          def subtitle
            facts = notes("loop")
            "#{facts["processes"]} processes, stores and places in turn and back again; " \
              "#{facts["value"] || "1,001 characters, as in the article"}; intervals over processes"
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
            LoadSection.new(self, rows("load"), notes("load")["arrivals"]).add_to(document)
            BreakEven.new(self, loop_rows).add_to(document)
            document.section("The article's own figures") { |section| section.add(article) }
          end

          def failure(row) = row.is_a?(LoopRow) ? row.reason : super

          # @return [Array<LoopRow>]
          def loop_rows = @loop_rows ||= rows("loop").map { |row| LoopRow.new(row) }

          # The baseline: Redis on this machine, as in the article, or the first row with figures.
          #
          # @return [LoopRow, nil]
          def baseline
            near = loop_rows.select { |row| row.figures? && row["kind"] == "direct" && row["medium"] != "process" }
            near.find { |row| row["store"] == BASELINE } || near.first || loop_rows.find(&:figures?)
          end

          private

          def article
            rows = ARTICLE.map do |machine, name, count, seconds, percent|
              [machine, name, count, figure(seconds, "s"), percent && "#{percent} %"]
            end
            Report::Table.new("Latency: as published in 2015", rows:,
                              header: ["machine", "configuration", "iterations", "real", "% of local Redis"],
                              note: "Reference: other machines, other versions, no intervals.")
          end

          def others = loop_rows.select { |row| row.figures? && !row.equal?(baseline) }

          def farthest
            others.reverse.find { |row| row["kind"] == "distance" && row["store"] == baseline["store"] }
          end

          # The first in-process store of Tiercel.
          def nearest = others.find { |row| row["medium"] == "process" && row["store"].start_with?("tiercel") }

          def by_baseline(row)
            told = told_of(row)
            time = told ? told.time_words(row, baseline, baseline["store"]) : "not compared"
            "with #{row["store"]} (#{row["place"]}) #{time} (#{row.words})"
          end

          # @return [Leader, nil] compares a row and the baseline; nil if their runs did not alternate
          def told_of(row)
            ratio = row.ratio_to(baseline) or return
            Leader.new({ row => ratio, baseline => Statistics::Interval.new(1.0, 1.0, 1.0) },
                       margin: protocol.margin_for([:loopback]), equality: protocol.equality)
          end

          def iterations_words = Report::Format.number(notes("loop")["iterations"])

          def add_loop(section)
            section.text("`exist?` and `fetch` of one stored name, #{iterations_words} times; in seconds. A delay " \
                         "proxy on this machine adds the distance; the round trip is measured through the proxy. " \
                         "User, system and total are CPU time of the client; the server's CPU time excludes the " \
                         "proxy.")
            raw = ->(row) { { row.name => row.seconds_per_iteration.flatten.map { |seconds| seconds * 1e6 } } }
            columns = loop_columns(notes("loop")["iterations"])
            section.add(columns_table("Latency: #{iterations_words} iterations", loop_rows, columns, labels: 2, raw:))
            chart = chart_of_distance and section.add(chart)
          end

          def loop_columns(count)
            cpu = ["user", "system", "total", "server CPU"].each_with_index.to_h do |name, index|
              [name, ->(row) { (seconds = row.cpu(count)[index]) ? figure(seconds, "s", digits: 3) : "none" }]
            end
            { "store" => "store", "place" => "place", "round trip" => :round_trip, "iterations" => "iterations",
              "real" => ->(row) { real_cell(row, count) }, **cpu }
          end

          def real_cell(row, count)
            note = "Computed from as many iterations as the third column says." if row["iterations"] < count
            figure(row.real(count), "s", note:)
          end

          def chart_of_distance
            placed = loop_rows.select do |row|
              row.figures? && %w[direct distance].include?(row["kind"]) && row.round_trip_ms
            end
            stores = placed.group_by { |row| row["store"] }
            return if stores.none? { |_name, rows| rows.size > 1 }
            series = stores.transform_values { |rows| rows.map { |row| [row.round_trip_ms, *row.milliseconds] } }
            line_chart("Latency: one iteration by round trip", series, x: "measured round trip, ms", y: "ms",
                                                                       x_scale: :log, y_scale: :log, command: nil)
          end

          def add_long(section)
            return section.text("No row has figures.") unless baseline
            count = notes("loop")["long_iterations"]
            columns = { "configuration" => :name,
                        "time" => [->(row) { row["long"] ? row["long"]["real"] : row.real(count) }, "s"],
                        "how" => :how, "% of baseline" => [:share_of_baseline, "%"] }
            note = "#{Report::Format.number(count)} iterations. The baseline is #{baseline["store"]} " \
                   "(#{baseline["place"]}); the article's was Redis on the same machine. Percentages are of runs " \
                   "that took turns."
            section.add(columns_table("Latency: time and % of baseline", loop_rows, columns, labels: 1, note:))
          end

          def share_of_baseline(row)
            row.equal?(baseline) ? "baseline" : row.ratio_to(baseline)&.map { |value| value * 100 }
          end
        end
      end
    end
  end
end
