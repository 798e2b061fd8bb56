# frozen_string_literal: true

require_relative "../view"

module Tiercel
  module Lab
    module Tables
      module Sqlite
        # Caches on SQLite, in the fifth article's form: a line for each store, a column for each size.
        class View < Tables::View
          article(/a second\z/)

          WORDS = { "write" => "Writes", "read" => "Reads" }.freeze
          COMPARED = { "store" => :name, "value" => ->(cell) { cell["value"] }, "time a call" => :time,
                       "ratio" => :ratio, "verdict" => :verdict, "objects" => :objects, "bytes" => :bytes }.freeze
          SHARED_HEADER = ["store", "value", "calls a second, both", "median", "p99", "max"].freeze
          # The settings of each store's connections, as the store or Rails' adapter makes them.
          PRAGMAS = {
            "litecache" => "as shipped: WAL, synchronous 0, mmap 128 MB",
            "litecache:equal" => "equal: WAL, synchronous 1, mmap 128 MB",
            "solid_cache_store" => "equal (as published, and Rails 8's own): WAL, synchronous 1, mmap 128 MB",
            "tiercel:sqlite:" => "equal (as shipped): WAL, synchronous 1, mmap 128 MB",
            "tiercel:sqlite:#synchronous=:off" => "as Litecache ships: WAL, synchronous 0, mmap 128 MB"
          }.freeze
          # The article's own figures, of an AMD Ryzen 8740HS: its machine, its versions.
          ARTICLE_SIZES = ["10 B", "100 B", "1,000 B", "10,000 B"].freeze
          ARTICLE = {
            "writes a second" => { "Litecache" => [14_763, 15_194, 16_165, 12_169],
                                   "Solid Cache" => [3_073, 3_008, 2_526, 2_826] },
            "reads a second" => { "Litecache" => [56_302, 53_077, 51_378, 25_658],
                                  "Solid Cache" => [18_165, 17_861, 18_172, 12_674] }
          }.freeze

          def title = "Caches on SQLite"

          def quick_words
            quick? ? ["Quick: two of the four sizes; two processes with one size and fewer stores."] : []
          end

          def sentence
            parts = WORDS.keys.filter_map { |operation| comparison_words(operation) }
            parts.empty? ? "Nothing could be measured." : "One process: #{parts.join("; ")}."
          end

          def findings
            WORDS.keys.filter_map do |operation|
              ours, baseline = compared(operation)
              next unless ours && %w[faster slower].include?(ours["summary"]["verdict"])
              factor = 1.0 / ours["summary"]["ratio"]["estimate"]
              Finding.new("#{name(ours)} #{operation}s #{title_of(values.last)} #{Report::Format.number(factor)}x as " \
                          "fast as #{name(baseline)}.", "SQLite: #{WORDS[operation].downcase} a second")
            end
          end

          def fill(document)
            WORDS.each do |operation, word|
              document.section("#{word}, one process") { |section| add_operation(section, operation, word) }
            end
            document.section("Two processes at once") { |section| add_shared(section) }
            document.section("The article's own figures") { |section| section.add(article) }
          end

          private

          # Of the last value, which is the largest.
          def compared(operation)
            all = cells(operation:).select { |cell| measured?(cell) && cell["value"] == values.last }
            ours = all.find { |cell| cell["contestant"]["text"].start_with?("tiercel:sqlite:") }
            baseline = all.find { |cell| baseline?(cell) }
            [ours, baseline] if ours && baseline && ours != baseline
          end

          def comparison_words(operation)
            ours, baseline = compared(operation)
            return unless ours
            verdict = ours["summary"]["verdict"]
            "#{name(ours)} #{operation}s #{number(rate(ours).estimate)} values of #{title_of(values.last)} a second, " \
              "#{name(baseline)} #{number(rate(baseline).estimate)} " \
              "(#{verdict ? verdict.tr("_", " ") : "not compared"})"
          end

          def number(value) = Report::Format.number(value.round)

          def values = results["cells"].map { |cell| cell["value"] }.uniq

          def title_of(value) = super.sub(/\AString of /, "")

          # Calls a second, garbage collection included.
          def rate(cell) = interval(cell["summary"]["ns"]).inverse.map { |seconds| seconds * 1e9 }

          def add_operation(section, operation, word)
            section.text("Calls a second that one process makes, with garbage collection; the stores in turn, values " \
                         "checked before and after. The stores without SQLite stand for reference.")
            header = ["store", "pragmas", *values.map { |value| title_of(value) }]
            section.table("SQLite: #{word.downcase} a second", header:, command:,
                          floor: floor(cells(operation:))) do |table|
              cells(operation:).group_by { |cell| cell["contestant"]["text"] }.each_value do |of_store|
                add_row(table, of_store)
              end
            end
            chart = lines(operation, word) and section.add(chart)
            section.add(ratios(operation, word)) if results["cells"].any? { |cell| baseline?(cell) }
          end

          def add_row(table, of_store)
            contestant = of_store.first["contestant"]
            by_value = of_store.to_h { |cell| [cell["value"], cell] }
            table.row(contestant["name"], PRAGMAS.fetch(contestant["text"], ""),
                      *values.map { |value| by_value[value] ? rate_cell(by_value[value]) : "" })
            of_store.select { |cell| measured?(cell) }.each do |cell|
              table.raw("#{contestant["name"]}, #{cell["value"]}", block_us(cell), unit: "us")
            end
          end

          def rate_cell(cell)
            return missing(cell) unless measured?(cell)
            Report::Cell.interval(rate(cell), digits: 0, muted: undecided?(cell))
          end

          def lines(operation, word)
            stores = cells(operation:).select { |cell| measured?(cell) }.group_by { |cell| name(cell) }
            return if stores.empty? || values.size < 2
            chart = Report::Charts::LineChart.new("SQLite: #{word.downcase} a second, by size", x: "bytes",
                                                  y: "calls a second", x_scale: :log, y_scale: :log, command:)
            stores.each do |name, of_store|
              chart.series(name, of_store.map { |cell| [size(cell["value"]), *rate(cell).to_h.values] })
            end
            chart
          end

          def size(value) = Values.known?(value) ? Values.fetch(value).approximate_bytes : 1

          def ratios(operation, word)
            baseline = results["cells"].find { |cell| baseline?(cell) }
            columns = COMPARED.merge("value" => ->(cell) { title_of(cell["value"]) })
            table = Report::Table.new("SQLite: #{word.downcase}, compared", header: columns.keys, command:,
                                      note: "Ratios are of the time to that of `#{name(baseline)}`.")
            cells(operation:).each do |cell|
              table.row(*columns.values.map { |column| column.is_a?(Symbol) ? send(column, cell) : column.call(cell) })
            end
            table
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
            unless Engine::Outcome.measured?(row) && rates.any?
              return [Engine::Outcome.measured?(row) ? Report::Cell.missing("not measured") : missing(row), "", "", ""]
            end
            histogram = Statistics::Histogram.from_h(row["histogram"])
            [Report::Cell.interval(Statistics::MedianInterval.of(rates), digits: 0),
             *[0.5, 0.99, 1.0].map { |share| Report::Cell.number(histogram.quantile(share) / 1e3, unit: "us") }]
          end

          def article
            note = "On an AMD Ryzen 8740HS, Solid Cache with WAL, synchronous 1 and 128 MB of mmap, Litecache as " \
                   "shipped. For the order of things, not to be compared with figures of other machines."
            Report::Table.new("SQLite: as published", header: ["store", "", *ARTICLE_SIZES], note:).tap do |table|
              ARTICLE.each do |quantity, stores|
                stores.each { |store, figures| table.row(store, quantity, *figures) }
              end
            end
          end
        end
      end
    end
  end
end
