# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # The tables of the fifth article: caches on SQLite by the size of the value.
    module Sqlite
      class Table < Tables::Table
        called "sqlite", "Caches on SQLite: writes and reads a second by size."
        example "sqlite --quick", "sqlite --value string-10b,string-10000b --store litecache --store tiercel:sqlite:",
                "sqlite --baseline solid_cache_store", "sqlite --markdown"
        in_all 100
        # Every process starts four bundles.
        full processes: 4, most_processes: 8, blocks: 4, budget_seconds: 180

        OPERATIONS = %w[write read].freeze
        BASELINE = "litecache"
        # The stores with their own pragmas and with equal ones. The last three do not use SQLite; they are
        # references. Redis is the first of them, because the first has the null arm of all servers, and PostgreSQL's
        # writes are much noisier.
        STORES = %w[litecache litecache:equal solid_cache_store tiercel:sqlite: redis_cache_store mem_cache_store
                    solid_cache_store:postgresql].freeze
        # The sizes of the article.
        VALUES = Published.of("sqlite")["sizes"]

        def options(parser)
          store_option(parser, default: "seven, see `lab sqlite --plan`")
          value_option(parser)
          parser.on("--baseline STORE", "baseline of the ratios (#{BASELINE})") do |text|
            @baseline = Contestants.parse(text)
          end
        end

        def plan
          stores = @stores || parse_all(STORES)
          contestants = [baseline, *stores].uniq(&:name)
          comparisons_of(chosen_values(VALUES), OPERATIONS.map { |name| Operations.fetch(name) }, contestants)
        end

        private

        def baseline = @baseline || Contestants.parse(BASELINE)
      end

      # Shows caches on SQLite as the fifth article does: a row for each store, a column for each size.
      class View < Tables::View
        article(/a second\z/)

        WORDS = { "write" => "Writes", "read" => "Reads" }.freeze
        COMPARED = { "store" => :name, "value" => ->(cell) { title_of(cell["value"]) }, "time a call" => :time,
                     "ratio" => :ratio, "verdict" => :verdict, "objects" => :objects, "bytes" => :bytes }.freeze
        # The pragmas of each store, set by the store or by the Rails adapter.
        PRAGMAS = {
          "litecache" => "as shipped: WAL, synchronous 0, mmap 128 MB",
          "litecache:equal" => "equal: WAL, synchronous 1, mmap 128 MB",
          "solid_cache_store" => "equal (as published, and Rails 8's own): WAL, synchronous 1, mmap 128 MB",
          "tiercel:sqlite:" => "equal (as shipped): WAL, synchronous 1, mmap 128 MB"
        }.freeze
        COLUMNS = { "store" => ->(of_store) { name(of_store.values.first) },
                    "pragmas" => lambda { |of_store|
                      PRAGMAS.fetch(of_store.values.first["contestant"]["text"], "")
                    } }.freeze

        def title = "Caches on SQLite"

        def sentence
          parts = WORDS.keys.filter_map { |operation| comparison_words(operation) }
          parts.empty? ? "Nothing could be measured." : "#{parts.join("; ")}."
        end

        def fill(document)
          WORDS.each do |operation, word|
            document.section(word) { |section| add_operation(section, operation, word) }
          end
          document.section("The article's own figures") { |section| section.add(article) }
        end

        private

        # Compares with the last value, which is the largest.
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
          "#{name(ours)} #{operation}s #{number(rate(ours).value)} values of #{title_of(values.last)} a second, " \
            "#{name(baseline)} #{number(rate(baseline).value)} " \
            "(#{verdict ? verdict.tr("_", " ") : "not compared"})"
        end

        def number(value) = Report::Format.number(value.round)

        def values = results["cells"].map { |cell| cell["value"] }.uniq

        def title_of(value) = super.sub(/\AString of /, "")

        def add_operation(section, operation, word)
          section.text("Calls a second that one process makes, with garbage collection; the stores in turn, values " \
                       "checked before and after. The stores without SQLite stand for reference.")
          rates = values.to_h { |value| [title_of(value), ->(of_store) { rate(of_store[value]) }] }
          stores = cells(operation:).group_by { |cell| cell["contestant"]["text"] }.values
                                    .map { |of_store| of_store.to_h { |cell| [cell["value"], cell] } }
          section.add(columns_table("SQLite: #{word.downcase} a second", stores, { **COLUMNS, **rates },
                                    floor: floor(cells(operation:))))
          section.add(ratios(operation, word)) if results["cells"].any? { |cell| baseline?(cell) }
        end

        def ratios(operation, word)
          baseline = results["cells"].find { |cell| baseline?(cell) }
          columns_table("SQLite: #{word.downcase}, compared", cells(operation:), COMPARED,
                        note: "Ratios are of the time to that of `#{name(baseline)}`.")
        end

        def article
          note = "The article: an AMD Ryzen 8740HS, Solid Cache with WAL, synchronous 1 and 128 MB of mmap, " \
                 "Litecache as shipped. For the order of things."
          sizes = Published.of("sqlite")["sizes"]
          rows = WORDS.keys.product(Published.of("sqlite")["write"].keys).map do |operation, store|
            figures = Published.of("sqlite")[operation][store].zip(sizes).flat_map do |published, value|
              ours = cells(operation:, value:).find { |cell| cell["contestant"]["text"] == store }
              [published, rate(ours)]
            end
            [store, "#{operation}s a second", *figures]
          end
          header = sizes.flat_map { |value| ["article: #{title_of(value)}", "here"] }
          Report::Table.new("SQLite: the article's figures beside ours", header: ["store", "", *header], note:, rows:)
        end
      end
    end
  end
end
