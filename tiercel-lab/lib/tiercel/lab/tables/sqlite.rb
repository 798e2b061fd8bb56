# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # The tables of the fifth article: caches on SQLite by the size of the value, with one process and with two.
    module Sqlite
      # Measures each store with two concurrent processes. All pairs of processes take turns, in order and in reverse.
      class Contention < Load::Trial
        OPERATIONS = %w[write read].freeze
        QUANTILES = { "median" => 0.5, "p99" => 0.99, "max" => 1.0 }.freeze
        # Starting two processes, and building a store in each.
        OPEN_SECONDS = 3.0
        # The time until both processes have received their command.
        START_SECONDS = 0.05

        # Two processes with one store. The outcome keeps the first failure.
        Pair = Struct.new(:contestant, :value, :fleet, :outcome)

        # Rows have "rates" (calls a second of both processes together, a list for each pair of processes) and
        # "quantiles_us" (of each turn, by {QUANTILES}).
        #
        # @param design [Design]
        # @param cpus [Array<Integer>]
        def initialize(design, cpus: Engine::Pinning.allowed_cpus, **)
          super(design, pinning: Engine::Pinning.new(cpus:), **)
          @cpus = cpus
          @contestants = design.shared_stores.map { |text| Contestants.parse(text) }
          @rows = design.shared_values.product(@contestants, OPERATIONS).map do |value, contestant, operation|
            blank(value:, store: contestant.name, text: contestant.text, operation:, rates: [], quantiles_us: [])
          end
        end

        private

        def measure
          @design.shared_values.product((0...@design.processes).to_a) { |value, process| with_pairs(value, process) }
        end

        def with_pairs(value, process)
          pairs = @contestants.map { |contestant| Pair.new(contestant, value, nil, blank) }
          pairs.each_with_index { |pair, index| open(pair, label(process, index)) }
          take_turns(pairs, process)
          pairs.each { |pair| on(pair) { |fleet| fleet.call("verify") } }
        ensure
          pairs&.each do |pair|
            OPERATIONS.each { |operation| note(row_of(pair, operation), pair.outcome) }
            pair.fleet&.stop
          end
        end

        # With only two CPUs, the second process gets the servers' CPU.
        def pinnings
          second = @cpus.size > 2 ? [@cpus[0], @cpus[2]] : @cpus.reverse
          [@cpus, second].map { |cpus| Engine::Pinning.new(cpus:) }
        end

        def open(pair, label)
          label = "#{label}-#{pair.value}"
          context = { servers: @pool.facts(pair.contestant.servers), folders: @scratch.folders, label:, shared: true }
          on(pair) do
            pair.fleet = Load::Fleet.new(pinnings.map do |pinning|
              job("load/client", bundle: pair.contestant.bundle, pinning:)
            end)
            pair.fleet.open(text: pair.contestant.text, context:, filled: true) do |index|
              { entries: { label: "#{label}-#{index}", value: pair.value, seed: @seed } }
            end
            pair.fleet.call("warm_up", operations: OPERATIONS)
          end
          @progress.advance(OPEN_SECONDS, "two processes with #{pair.contestant.name}")
        end

        def take_turns(pairs, process)
          order = in_turn(pairs, process)
          @design.rounds.times do |round|
            turn = round.even? ? order : order.reverse
            turn.product(OPERATIONS) { |pair, operation| work(pair, operation, process) }
          end
        end

        # Both processes work at the same time.
        def work(pair, operation, process)
          on(pair) do |fleet|
            arrivals = { seconds: @design.seconds, at: Load::Fleet.soon }
            keep(row_of(pair, operation), fleet.call("drive", operation:, arrivals:, measure: "each"), process)
          end
          @progress.advance(@design.seconds + START_SECONDS,
                            "two processes #{operation} with #{pair.contestant.name}")
        end

        def keep(row, answers, process)
          (row["rates"][process] ||= []) << answers.sum { |answer| answer["requests"] / answer["seconds"] }
          ns = answers.flat_map { |answer| answer["ns"] }.sort
          row["quantiles_us"] << QUANTILES.transform_values { |share| Statistics.sorted_quantile(ns, share) / 1e3 }
        end

        def row_of(pair, operation)
          rows.find do |row|
            row.values_at("value", "text", "operation") == [pair.value, pair.contestant.text, operation]
          end
        end

        def on(pair)
          return unless measured?(pair.outcome)
          note(pair.outcome, attempt { yield(pair.fleet) && {} })
        end
      end

      # The values and stores to measure with one process, and with two. There are `processes` pairs of fresh
      # processes, with `rounds` of `seconds` each.
      Design = Data.define(:values, :stores, :shared_values, :shared_stores, :processes, :rounds, :seconds) do
        def expected_seconds
          turns = Contention::OPERATIONS.size * rounds
          processes * shared_stores.size * shared_values.size *
            (Contention::OPEN_SECONDS + (turns * (seconds + Contention::START_SECONDS)))
        end
      end

      class Table < Tables::Table
        called "sqlite", "Caches on SQLite: writes and reads a second by size."
        example "sqlite --quick", "sqlite --value string-10b,string-10000b --store litecache --store tiercel:sqlite:",
                "sqlite --baseline solid_cache_store", "sqlite --markdown"
        in_all 100
        # Every process starts four bundles. Two processes would leave references that are 20 times as slow undecided.
        full processes: 4, most_processes: 8, blocks: 4, budget_seconds: 180

        OPERATIONS = %w[write read].freeze
        BASELINE = "litecache"
        # The stores with their own pragmas and with equal ones. The last three do not use SQLite; they are
        # references. Redis is the first of them, because the first has the null arm of all servers, and PostgreSQL's
        # writes are much noisier.
        STORES = %w[litecache litecache:equal solid_cache_store tiercel:sqlite: tiercel:sqlite:#synchronous=:off
                    redis_cache_store mem_cache_store solid_cache_store:postgresql].freeze
        # All sizes of the article, with one process and with two.
        FULL = Design.new(values: %w[string-10b string-100b string-1000b string-10000b], stores: STORES,
                          shared_values: %w[string-100b string-10000b], shared_stores: STORES, processes: 3,
                          rounds: 3, seconds: 0.3)
        # Two sizes with one process, and one of them with two processes.
        QUICK = FULL.with(values: %w[string-100b string-10000b],
                          stores: STORES - %w[tiercel:sqlite:#synchronous=:off],
                          shared_values: %w[string-10000b], processes: 2, seconds: 0.25,
                          shared_stores: %w[litecache litecache:equal solid_cache_store tiercel:sqlite:
                                            redis_cache_store])

        def options(parser)
          store_option(parser, default: "eight, see `lab sqlite --plan`")
          value_option(parser)
          parser.on("--baseline STORE", "baseline of the ratios (#{BASELINE})") do |text|
            @baseline = Contestants.parse(text).text
          end
        end

        def plan
          contestants = parse_all([baseline, *(design.stores - [baseline])])
          comparisons_of(design.values.map { |name| Values.fetch(name) },
                      OPERATIONS.map { |name| Operations.fetch(name) }, contestants)
        end

        def plan_in_words
          "Two processes at once: #{design.shared_stores.size} stores, #{design.shared_values.join(", ")}; one process:"
        end

        def take(comparisons)
          super
          run.table("two processes", tried(Contention).rows, **design.to_h.slice(:processes, :rounds, :seconds))
        end

        # @return [Design]
        def design
          @design ||= begin
            stores, values = @stores&.map(&:text), @values&.map(&:name)
            chosen = { values:, shared_values: values && [values.last], stores:,
                       shared_stores: stores && [baseline, *stores].uniq }
            (settings.quick ? QUICK : FULL).with(**chosen.compact)
          end
        end

        private

        def baseline = @baseline || BASELINE
      end

      # Shows caches on SQLite as the fifth article does: a row for each store, a column for each size.
      class View < Tables::View
        article(/a second\z/)

        quick "Quick: two of the four sizes; two processes with one size and fewer stores."

        WORDS = { "write" => "Writes", "read" => "Reads" }.freeze
        COMPARED = { "store" => :name, "value" => ->(cell) { title_of(cell["value"]) }, "time a call" => :time,
                     "ratio" => :ratio, "verdict" => :verdict, "objects" => :objects, "bytes" => :bytes }.freeze
        SHARED_QUANTILES = Contention::QUANTILES.to_h do |name, _share|
          [name, [->(row) { turns(row, name) }, "us"]]
        end
        SHARED = { "store" => "store", "value" => ->(row) { title_of(row["value"]) },
                   "calls a second, both" => lambda { |row|
                     figure(Statistics::MedianInterval.of_times(row["rates"].compact), digits: 0)
                   }, **SHARED_QUANTILES }.freeze
        # The pragmas of each store, set by the store or by the Rails adapter.
        PRAGMAS = {
          "litecache" => "as shipped: WAL, synchronous 0, mmap 128 MB",
          "litecache:equal" => "equal: WAL, synchronous 1, mmap 128 MB",
          "solid_cache_store" => "equal (as published, and Rails 8's own): WAL, synchronous 1, mmap 128 MB",
          "tiercel:sqlite:" => "equal (as shipped): WAL, synchronous 1, mmap 128 MB",
          "tiercel:sqlite:#synchronous=:off" => "as Litecache ships: WAL, synchronous 0, mmap 128 MB"
        }.freeze
        COLUMNS = { "store" => ->(of_store) { name(of_store.values.first) },
                    "pragmas" => lambda { |of_store|
                      PRAGMAS.fetch(of_store.values.first["contestant"]["text"], "")
                    } }.freeze

        def title = "Caches on SQLite"

        def sentence
          parts = WORDS.keys.filter_map { |operation| comparison_words(operation) }
          parts.empty? ? "Nothing could be measured." : "One process: #{parts.join("; ")}."
        end

        def fill(document)
          WORDS.each do |operation, word|
            document.section("#{word}, one process") { |section| add_operation(section, operation, word) }
          end
          document.section("Two processes at once") { |section| add_shared(section) }
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
          rates = values.to_h { |value| [title_of(value), ->(of_store) { rate_cell(of_store[value]) }] }
          stores = cells(operation:).group_by { |cell| cell["contestant"]["text"] }.values
                                    .map { |of_store| of_store.to_h { |cell| [cell["value"], cell] } }
          section.add(columns_table("SQLite: #{word.downcase} a second", stores, { **COLUMNS, **rates },
                                    floor: floor(cells(operation:)), raw: method(:blocks_of)))
          chart = lines(operation, word) and section.add(chart)
          section.add(ratios(operation, word)) if results["cells"].any? { |cell| baseline?(cell) }
        end

        # @param of_store [Hash{String => Hash}] cells by their values
        def blocks_of(of_store)
          of_store.values.select { |cell| measured?(cell) }
                  .to_h { |cell| ["#{name(cell)}, #{cell["value"]}", block_us(cell)] }
        end

        def rate_cell(cell)
          return cell && missing(cell) unless cell && measured?(cell)
          figure(rate(cell), digits: 0, muted: undecided?(cell))
        end

        def lines(operation, word)
          stores = cells(operation:).select { |cell| measured?(cell) }.group_by { |cell| name(cell) }
          return if stores.empty? || values.size < 2
          series = stores.transform_values do |of_store|
            of_store.map { |cell| [size(cell["value"]), *rate(cell).to_h.values] }
          end
          line_chart("SQLite: #{word.downcase} a second, by size", series, x: "bytes", y: "calls a second",
                                                                           x_scale: :log, y_scale: :log)
        end

        def size(value) = Values.known?(value) ? Values.fetch(value).approximate_bytes : 1

        def ratios(operation, word)
          baseline = results["cells"].find { |cell| baseline?(cell) }
          columns_table("SQLite: #{word.downcase}, compared", cells(operation:), COMPARED,
                        note: "Ratios are of the time to that of `#{name(baseline)}`.")
        end

        def add_shared(section)
          facts = notes("two processes")
          return section.text("Not measured.") if rows("two processes").empty?
          section.text("Two processes on two CPUs use one database at the same time, each with its own names; " \
                       "both write, or both read. #{facts["processes"]} pairs of fresh processes, " \
                       "#{facts["rounds"]} rounds of #{facts["seconds"]} s each, stores in turn. Every call is " \
                       "timed: median and p99 of a turn (the median of the turns), and the slowest call of all.")
          rows("two processes").group_by { |row| row["operation"] }.each do |operation, of_operation|
            section.add(columns_table("SQLite: two processes #{operation}", of_operation, SHARED, labels: 2))
          end
        end

        # The median of the turns, and the longest call of all of them.
        def turns(row, name)
          figures = row["quantiles_us"].map { |turn| turn[name] }
          name == "max" ? figures.max : Statistics.median(figures)
        end

        def failure(row) = super || (Report::Cell.missing("not measured") if row["rates"].compact.empty?)

        def article
          note = "The article: an AMD Ryzen 8740HS, Solid Cache with WAL, synchronous 1 and 128 MB of mmap, " \
                 "Litecache as shipped. For the order of things."
          sizes = Published.of("sqlite")["sizes"]
          rows = WORDS.keys.product(Published.of("sqlite")["write"].keys).map do |operation, store|
            figures = Published.of("sqlite")[operation][store].zip(sizes).flat_map do |published, value|
              ours = cells(operation:, value:).find { |cell| cell["contestant"]["text"] == store }
              [published, rate_cell(ours)]
            end
            [store, "#{operation}s a second", *figures]
          end
          header = sizes.flat_map { |value| ["article: #{title_of(value)}", "here"] }
          Report::Table.new("SQLite: the article's figures beside ours", header: ["store", "", *header], note:, rows:)
        end
      end
    end
  end

  module Tables
    add Sqlite::Table
  end
end
