# frozen_string_literal: true

require_relative "../sqlite/design"
require_relative "../statistics"
require_relative "../values"
require_relative "table"

module Tiercel
  module Lab
    module Documents
      # Caches on SQLite, in the fifth article's form: a line for each store, a column for each size.
      class Sqlite < Table
        WORDS = { "write" => "Writes", "read" => "Reads" }.freeze
        COMPARED_HEADER = ["store", "value", "time a call", "ratio", "verdict", "objects", "bytes"].freeze
        SHARED_HEADER = ["store", "value", "calls a second, both", "median", "p99", "max"].freeze

        # The article's own figures, of an AMD Ryzen 8740HS: its machine, its versions.
        ARTICLE_SIZES = ["10 B", "100 B", "1,000 B", "10,000 B"].freeze
        ARTICLE = {
          "writes a second" => { "Litecache" => [14_763, 15_194, 16_165, 12_169],
                                 "Solid Cache" => [3_073, 3_008, 2_526, 2_826] },
          "reads a second" => { "Litecache" => [56_302, 53_077, 51_378, 25_658],
                                "Solid Cache" => [18_165, 17_861, 18_172, 12_674] }
        }.freeze

        def title = "Caches on SQLite"

        def fill(document)
          document.verdict(sentence, floor: worst_floor, warnings: warnings + quick_words)
          WORDS.each do |operation, word|
            document.section("#{word}, one process") { |section| add_operation(section, operation, word) }
          end
          document.section("Two processes at once") { |section| add_shared(section) }
          document.section("The article's own figures") { |section| section.add(article) }
        end

        private

        def sentence
          parts = WORDS.keys.filter_map { |operation| comparison_words(operation) }
          return "Nothing could be measured." if parts.empty?
          "One process: #{parts.join("; ")}."
        end

        # Of the last value, which is the largest.
        def comparison_words(operation)
          all = cells(operation:).select { |cell| measured?(cell) && cell["value"] == values.last }
          ours = all.find { |cell| cell["contestant"]["text"].start_with?("tiercel:sqlite:") }
          baseline = all.find { |cell| cell["role"] == "baseline" }
          return unless ours && baseline && ours != baseline
          "#{ours["contestant"]["name"]} #{operation}s #{number(rate(ours).estimate)} values of " \
            "#{title_of(values.last)} a second, #{baseline["contestant"]["name"]} #{number(rate(baseline).estimate)} " \
            "(#{said(ours["summary"]["verdict"])})"
        end

        def said(verdict) = verdict ? verdict.tr("_", " ") : "not compared"

        def number(value) = Report::Format.number(value.round)

        def quick_words
          quick? ? ["Quick: two of the four sizes; two processes with one size and fewer stores."] : []
        end

        def values = results["cells"].map { |cell| cell["value"] }.uniq

        def title_of(value) = super.sub(/\AString of /, "")

        # Calls a second, garbage collection included.
        def rate(cell)
          summary = cell["summary"]
          gc_ns = summary["gc_ns"]
          interval(summary["ns"]).map { |ns| ns + gc_ns }.inverse.map { |seconds| seconds * 1e9 }
        end

        def add_operation(section, operation, word)
          section.text("Calls a second that one process makes, with garbage collection; the stores in turn, values " \
                       "checked before and after. The stores without SQLite stand for reference.")
          header = ["store", "pragmas", *values.map { |value| title_of(value) }]
          section.table("SQLite: #{word.downcase} a second", header:, command:) do |table|
            cells(operation:).group_by { |cell| cell["contestant"]["text"] }.each_value do |of_store|
              add_row(table, of_store)
            end
          end
          chart = lines(operation, word) and section.add(chart)
          add_ratios(section, operation, word)
        end

        def add_row(table, of_store)
          contestant = of_store.first["contestant"]
          by_value = of_store.to_h { |cell| [cell["value"], cell] }
          table.row(contestant["name"], Lab::Sqlite::Design::PRAGMAS.fetch(contestant["text"], ""),
                    *values.map { |value| by_value[value] ? rate_cell(by_value[value]) : "" })
          of_store.select { |cell| measured?(cell) }.each do |cell|
            table.raw("#{contestant["name"]}, #{cell["value"]}", block_us(cell), unit: "us")
          end
        end

        def rate_cell(cell)
          return missing(cell) unless measured?(cell)
          Report::Cell.interval(rate(cell), digits: 0, muted: cell["summary"]["verdict"] == "cannot_tell")
        end

        def lines(operation, word)
          stores = cells(operation:).select { |cell| measured?(cell) }.group_by { |cell| cell["contestant"]["name"] }
          return if stores.empty? || values.size < 2
          chart = Report::Charts::LineChart.new("SQLite: #{word.downcase} a second, by size", x: "bytes",
                                                y: "calls a second", x_scale: :log, y_scale: :log, command:)
          stores.each do |name, of_store|
            chart.series(name, of_store.map { |cell| [bytes(cell["value"]), *points(rate(cell))] })
          end
          chart
        end

        def points(interval) = [interval.estimate, interval.low, interval.high]

        def bytes(value) = Values.known?(value) ? Values.fetch(value).approximate_bytes : 1

        def add_ratios(section, operation, word)
          baseline = results["cells"].find { |cell| cell["role"] == "baseline" } or return
          note = "Ratios are of the time to that of `#{baseline["contestant"]["name"]}`."
          section.table("SQLite: #{word.downcase}, compared", header: COMPARED_HEADER, note:, command:) do |table|
            cells(operation:).each do |cell|
              table.row(cell["contestant"]["name"], title_of(cell["value"]), time(cell), ratio(cell), verdict(cell),
                        objects(cell), cell["exact"]["stored_bytes"])
            end
          end
        end

        def add_shared(section)
          facts = notes("two processes")
          return section.text("Not measured.") if rows("two processes").empty?
          section.text("Two processes on two CPUs use one database at the same time, each with its own names; both " \
                       "write, or both read. #{facts["processes"]} pairs of fresh processes, #{facts["rounds"]} " \
                       "rounds of #{facts["seconds"]} s each, stores in turn. Every call is timed: the slowest one " \
                       "is what a request may have to wait.")
          rows("two processes").group_by { |row| row["operation"] }.each do |operation, of_operation|
            section.table("SQLite: two processes #{operation}", header: SHARED_HEADER, command:) do |table|
              of_operation.each do |row|
                table.row(row["store"], title_of(row["value"]), *shared_figures(row))
              end
            end
          end
        end

        def shared_figures(row)
          rates = row["rates"].compact
          unless row["status"] == "measured" && rates.any?
            reason = row["status"] == "measured" ? "not measured" : [row["status"], row["reason"]].compact.join(": ")
            return [Report::Cell.missing(reason), "", "", ""]
          end
          histogram = Statistics::Histogram.from_h(row["histogram"])
          [Report::Cell.interval(Statistics::MedianInterval.of(rates), digits: 0),
           *[0.5, 0.99, 1.0].map { |share| Report::Cell.number(histogram.quantile(share) / 1e3, unit: "us") }]
        end

        def article
          note = "On an AMD Ryzen 8740HS, Solid Cache with WAL, synchronous 1 and 128 MB of mmap, Litecache as " \
                 "shipped. For the order of things, not to be compared with figures of other machines."
          table = Report::Table.new("SQLite: as published", header: ["store", "", *ARTICLE_SIZES], note:)
          ARTICLE.each do |quantity, stores|
            stores.each { |store, figures| table.row(store, quantity, *figures) }
          end
          table
        end
      end
    end
  end
end
