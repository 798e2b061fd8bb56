# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # The loop of the second article with near and far servers, and the distance from which compression or a near tier
    # pays.
    module Latency
      # The measured stores, distances and rates.
      #
      # @!attribute [r] contestants
      #   @return [Array<Contestant>]
      # @!attribute [r] own
      #   @return [Array<Contestant>] stores of --url, which run on servers of the user
      # @!attribute [r] round_trips_ms
      #   @return [Array<Float>] delays of the proxy
      # @!attribute [r] megabits
      #   @return [Array<Float>] caps of a connection's bandwidth, Mbit/s each way
      # @!attribute [r] iterations
      #   @return [Integer] number of iterations of the loop
      # @!attribute [r] long_iterations
      #   @return [Integer]
      # @!attribute [r] long_seconds
      #   @return [Numeric] a longer loop is computed, not measured; 0: every loop is computed
      # @!attribute [r] budget_seconds
      #   @return [Numeric] longest duration of one run of the loop; a slower loop has fewer iterations
      # @!attribute [r] processes
      #   @return [Integer]
      # @!attribute [r] repeats
      #   @return [Integer] runs of each store and place in a process
      # @!attribute [r] rates
      #   @return [Array<Float>] requests a second that are offered to every store
      # @!attribute [r] load_seconds
      #   @return [Numeric] seconds of load at each rate in each process
      # @!attribute [r] arrivals
      #   @return [String] one of {Load::Arrivals::OPEN}
      # @!attribute [r] value
      #   @return [String, nil] name of a value; nil: the article's 1,001 characters
      Design = Data.define(:contestants, :own, :round_trips_ms, :megabits, :iterations, :long_iterations,
                           :long_seconds,
                           :budget_seconds, :processes, :repeats, :rates, :load_seconds, :arrivals, :value)

      class Design
        STORES = %w[redis_cache_store mem_cache_store tiercel:redis: tiercel:memcached: tiercel:shared:
                    memory_store].freeze
        FULL = { round_trips_ms: [0.0, 0.25, 0.5, 1.0, 5.0, 20.0], megabits: [100.0, 10.0], iterations: 1_000,
                 long_iterations: 100_000, long_seconds: 30, budget_seconds: 3, processes: 4, repeats: 1,
                 rates: [500.0, 2_000.0, 5_000.0, 10_000.0, 20_000.0], load_seconds: 0.8,
                 arrivals: "exponential", value: nil }.freeze
        # A quick run has three distances, fewer iterations of slow loops, and computes the 100,000 iterations.
        QUICK = { round_trips_ms: [0.0, 0.5, 5.0], megabits: [10.0], long_seconds: 0, budget_seconds: 0.2, repeats: 1,
                  rates: [1_000.0, 5_000.0, 20_000.0], load_seconds: 0.3 }.freeze
        # Starting a process and building its stores.
        PROCESS_SECONDS = 2.0

        # The place of a store without a server of the lab, by its medium.
        PLACES = { process: "in process", disk: "disk", loopback: "as it is", remote: "as it is" }.freeze

        # A store in one place.
        #
        # @!attribute [r] contestant
        #   @return [Contestant]
        # @!attribute [r] kind
        #   @return [String] "direct", "distance", "bandwidth" or "own"
        # @!attribute [r] delay_ms
        #   @return [Float, nil] asked of the proxy
        # @!attribute [r] megabits
        #   @return [Float, nil]
        Slot = Data.define(:contestant, :kind, :delay_ms, :megabits) do
          # @return [Boolean]
          def proxied? = !delay_ms.nil?

          # @return [String] description of the store and its connection to the server
          def subject = "#{contestant.name}#{" (far)" if proxied?}"

          # @return [String]
          def place
            case kind
            when "distance" then "+#{delay_ms.to_s.delete_suffix(".0")} ms"
            when "bandwidth"
              "+#{delay_ms.to_s.delete_suffix(".0")} ms, #{megabits.to_s.delete_suffix(".0")} Mbit/s"
            when "own" then "yours"
            else contestant.servers.any? ? "loopback" : PLACES.fetch(contestant.medium)
            end
          end
        end

        # A capped connection also has a distance, as between two machines of a data centre.
        CAPPED_MS = 0.5

        # @param quick [Boolean]
        # @param given [Hash] the user's options; nil for an option that the user did not set
        # @return [Design]
        def self.of(quick:, contestants:, own:, **given)
          new(contestants:, own:, **FULL, **(quick ? QUICK : {}), **given.compact)
        end

        # @return [Array<Slot>]
        def slots
          far = contestants.select { |contestant| contestant.servers.any? }
          slots_of("direct", contestants) +
            round_trips_ms.flat_map { |delay_ms| slots_of("distance", far, delay_ms:) } +
            megabits.flat_map { |rate| slots_of("bandwidth", far, delay_ms: CAPPED_MS, megabits: rate) } +
            slots_of("own", own)
        end

        # The slots that get an offered load: stores on this machine, and the user's own.
        #
        # @return [Array<Slot>]
        def loaded = slots.select { |slot| %w[direct own].include?(slot.kind) }

        # @return [Array<Symbol>]
        def servers = contestants.flat_map(&:servers).uniq

        # @param slot [Slot]
        # @return [Float] the estimate for one run
        def run_seconds(slot)
          [iterations * iteration_seconds(slot), budget_seconds].min + 0.05
        end

        # @return [Float] the estimate for the whole table
        def expected_seconds
          loops = slots.sum { |slot| run_seconds(slot) } * repeats
          long = long_seconds.positive? ? slots.sum { |slot| long_run_seconds(slot) } : 0
          (processes * (PROCESS_SECONDS + loops + (loaded.size * rates.size * load_seconds))) + long
        end

        private

        def slots_of(kind, contestants, delay_ms: nil, megabits: nil)
          contestants.map { |contestant| Slot.new(contestant:, kind:, delay_ms:, megabits:) }
        end

        # An iteration makes two calls; a proxy takes about as long as a server.
        def iteration_seconds(slot)
          return 1e-5 if slot.contestant.medium == :process
          2 * (slot.delay_ms ? slot.delay_ms + 0.2 : 0.1) / 1e3
        end

        def long_run_seconds(slot)
          seconds = iteration_seconds(slot) * long_iterations
          seconds <= long_seconds ? seconds : 0
        end
      end

      # The recorded runs of one store in one place.
      class LoopRow
        # @param row [Hash{String => Object}]
        def initialize(row)
          @row = row
        end

        # @param name [String] name of a recorded fact
        # @return [Object]
        def [](name) = @row[name]

        # @return [Boolean]
        def figures? = @row["status"] == "measured" && @row["runs"].any?

        # @return [String]
        def name = "#{self["store"]}, #{self["place"]}"

        # @return [String] source of the long loop's time
        def how = self["long"] ? "measured" : "computed from #{Report::Format.number(self["iterations"])}"

        # @return [Report::Cell, nil] why there are no figures
        def reason
          return if figures?
          words = [(@row["status"] unless @row["status"] == "measured"), @row["reason"]].compact
          Report::Cell.missing(words.empty? ? "not measured: interrupted" : words.join(": "))
        end

        # @return [Array<Array<Float>>] seconds per iteration: for each process, a figure for each run
        def seconds_per_iteration = speeds.sort.map { |_process, turns| turns.values }

        # @return [Statistics::Interval] seconds
        def per_iteration = @per_iteration ||= Statistics::MedianInterval.of(seconds_per_iteration)

        # @param count [Integer] iterations
        # @return [Statistics::Interval] seconds
        def real(count) = per_iteration.map { |seconds| seconds * count }

        # @return [Array<Float>] estimate and bounds of an iteration in ms
        def milliseconds
          [per_iteration.estimate, per_iteration.low, per_iteration.high].map { |seconds| seconds * 1e3 }
        end

        # @return [String] "0.120 ms [0.115-0.131]"
        def words = Report::Cell.interval(per_iteration.map { |seconds| seconds * 1e3 }, unit: "ms").to_s

        # @param count [Integer]
        # @return [Array<Float, nil>] user, system, total and server's CPU, seconds, means
        def cpu(count)
          user, system, server = %w[user system server].map { |name| mean(name, count) }
          [user, system, user + system, server]
        end

        # @return [Float, nil]
        def round_trip_ms
          Statistics.median(@row["round_trips"]) * 1e3 if @row["round_trips"].any?
        end

        # @return [Report::Cell, String]
        def round_trip
          round_trip_ms ? Report::Cell.number(round_trip_ms, unit: "ms") : "none"
        end

        # @param other [LoopRow]
        # @return [Statistics::Interval, nil] time by the other's, runs of the same process and turn paired
        def ratio_to(other) = Engine::Paired.ratio(speeds, other.speeds)

        # @return [Hash{Integer => Hash{Integer => Float}}] seconds an iteration, by process and turn
        def speeds
          @row["runs"].group_by { |run| run["process"] }.transform_values do |runs|
            runs.each_with_index.to_h { |run, turn| [turn, run["real"] / run["iterations"]] }
          end
        end

        private

        def mean(name, count)
          runs = @row["runs"]
          return if runs.any? { |run| run[name].nil? }
          runs.sum { |run| run[name] } / runs.sum { |run| run["iterations"] } * count
        end
      end

      # Measures a {Design} with fresh client processes. In each process all stores and places take turns, in order
      # and in reverse.
      class Trial < Load::Trial
        # Maximum number of round trips measured in each process.
        ROUND_TRIPS = 50
        ROUND_TRIP_SECONDS = 0.5
        # The duration of the warm-up, and the number of its last iterations that estimate the speed.
        PROBE_SECONDS = 0.1
        PROBES = 5

        # @return [Array<Hash>] one for each store and offered load
        attr_reader :loads
        # @return [Hash{String => String}] versions of the servers
        attr_reader :versions

        # A row for each slot of the design.
        def initialize(...)
          super
          @versions = {}
          @loads = []
          @by_slot = @design.slots.to_h { |slot| [slot, blank(**facts(slot))] }
          @rows = @by_slot.values
        end

        private

        def facts(slot)
          { store: slot.contestant.name, text: slot.contestant.text, place: slot.place, kind: slot.kind,
            delay_ms: slot.delay_ms, megabits: slot.megabits, medium: slot.contestant.medium.to_s,
            iterations: nil, bytes: nil, runs: [], round_trips: [], long: nil }
        end

        def measure
          @site = Load::Site.new(@design.servers, pinning: @pinning).start
          @versions = @site.versions
          @design.processes.times do |process|
            with_fleet(1, pinnings: [@pinning]) { |fleet| run_process(fleet.jobs.first, process) }
          end
        ensure
          @site&.stop
        end

        def run_process(client, process)
          @client = client
          running.uniq(&:subject).each_with_index { |slot, index| open(slot, label(process, index)) }
          @progress.advance(Design::PROCESS_SECONDS, "stores built")
          run_loops(process)
          running.each { |slot| ask_round_trip(slot) }
          run_long if process.zero?
          offer_loads(process)
          running.uniq(&:subject).each { |slot| ask(slot, "verify") }
        rescue WorkerLost => e
          lost = Engine::Outcome.failure(Engine::Outcome::CANNOT_RUN, e.message)
          running.each { |slot| note(@by_slot[slot], lost) }
        end

        def running = @design.slots.select { |slot| measured?(@by_slot[slot]) }

        def open(slot, label)
          entries = { label:, seed: @seed, value: @design.value, article: @design.value.nil? }
          context = { servers: @site.facts(far: slot.proxied?), folders: @scratch.folders, label: }
          answer = ask(slot, "open", text: slot.contestant.text, entries:, context:, filled: true) or return
          same_subject(slot).each { |row| row["bytes"] = answer["bytes"] }
        end

        def same_subject(slot) = @by_slot.filter_map { |other, row| row if other.subject == slot.subject }

        # A store that fails to open or to verify fails in all its places.
        #
        # @return [Hash, nil] the answer; nil after a failure, which the rows record
        def ask(slot, method, **arguments)
          @site.move_to(slot)
          outcome = @client.call(method, id: slot.subject, **arguments)
          return outcome if measured?(outcome)
          (%w[open verify].include?(method) ? same_subject(slot) : [@by_slot[slot]]).each { |row| note(row, outcome) }
          nil
        end

        def run_loops(process)
          order = in_turn(@design.slots, process)
          @design.repeats.times do |repeat|
            (repeat.even? ? order : order.reverse).each { |slot| run_loop(slot, process) if running.include?(slot) }
          end
        end

        def run_loop(slot, process)
          iterations = iterations_of(slot) or return
          figures = timed(slot, iterations) or return
          @by_slot[slot]["runs"] << { "process" => process }.merge(figures)
          @progress.advance(@design.run_seconds(slot), "#{slot.contestant.name}, #{slot.place}")
        end

        # The first process determines the number; all processes use it.
        def iterations_of(slot)
          found = probed(slot) or return
          @by_slot[slot]["iterations"] ||= (@design.budget_seconds / found).floor.clamp(PROBES, @design.iterations)
        end

        # Estimates the speed, and warms up.
        #
        # @return [Float, nil] seconds of an iteration
        def probed(slot)
          answer = iterate(slot, seconds: PROBE_SECONDS, measure: "each") or return
          last = answer["ns"].last(PROBES)
          last.sum / 1e9 / last.size
        end

        def iterate(slot, measure: "totals", **arrivals)
          ask(slot, "drive", operation: "exist_and_fetch", arrivals:, measure:)
        end

        def timed(slot, iterations)
          before = @site.cpu_seconds(slot.contestant)
          answer = iterate(slot, requests: iterations) or return
          after = @site.cpu_seconds(slot.contestant)
          { "iterations" => iterations, "real" => answer["seconds"], **answer.slice("user", "system"),
            "server" => (after - before if before && after) }
        end

        def ask_round_trip(slot)
          question = @site.question(slot) or return
          @site.move_to(slot)
          samples = (ROUND_TRIP_SECONDS * 1e3 / [slot.delay_ms || 0, 1].max).floor.clamp(5, ROUND_TRIPS)
          @by_slot[slot]["round_trips"] << @client.call("round_trip", samples:, **question)
        rescue WorkerLost
          nil # the server's own business, such as a password; the loop has been measured
        end

        def run_long
          return unless @design.long_seconds.positive?
          running.each do |slot|
            run = @by_slot[slot]["runs"].last or next
            seconds = run["real"] / run["iterations"] * @design.long_iterations
            next if seconds > @design.long_seconds
            @by_slot[slot]["long"] = timed(slot, @design.long_iterations)
            words = "#{@design.long_iterations} iterations, #{slot.contestant.name}, #{slot.place}"
            @progress.advance(seconds, words)
          end
        end

        # Every store gets the same rates, from low to high.
        def offer_loads(process)
          @design.rates.product(@design.loaded) do |rate, slot|
            next unless running.include?(slot)
            arrivals = { kind: @design.arrivals, rate:, seconds: @design.load_seconds, seed: @seed + process }
            outcome = ask(slot, "drive", operation: "fetch", arrivals:) or next
            @loads << { "store" => slot.contestant.name, "place" => slot.place, "rate" => rate,
                        "process" => process }.merge(outcome)
            @progress.advance(@design.load_seconds, "#{slot.contestant.name} at #{rate.round}/s")
          end
        end
      end

      class Table < Tables::Table
        called "latency", "Latency by distance to the server, and under load."
        example "latency --quick", "latency --round-trips 0,0.25,1 --store redis_cache_store",
                "latency --url production=redis://10.0.0.7:6379/0", "latency --arrivals constant --rates 2000,8000"
        takes :quick, :seed, :cells, :url
        in_all 60
        # A quick run spends its time on the loop.
        quick blocks: 3
        full processes: 4, most_processes: 8, blocks: 4, budget_seconds: 60

        # Break-even points are computed from reads of these values, compressed and not.
        VALUES = %w[html-2kb rows-50 html-822kb].freeze
        QUICK_VALUES = %w[html-2kb html-822kb].freeze
        PLAIN = "redis_cache_store#compress=false"
        # Compresses values of every size, to find where compression pays.
        COMPRESSED = "redis_cache_store#compress=true,compress_threshold=1"
        NEAR = "tiercel:shared:"

        def options(parser)
          store_option(parser, default: Design::STORES.join(", "))
          fact parser, "--round-trips A,B", "added ms (0,0.25,0.5,1,5,20)", :round_trips_ms, :zero
          fact parser, "--bandwidth A,B", "caps in Mbit/s (100,10)", :megabits, :number
          fact parser, "--iterations N", "of the loop (1000)", :iterations, :count
          fact parser, "--rates A,B", "offered requests a second (500,2000,...)", :rates, :number
          parser.on("--arrivals KIND", Load::Arrivals::OPEN, "exponential or constant gaps") do |kind|
            facts_given[:arrivals] = kind
          end
          parser.on("--value NAME", "value instead of the article's 1,001 characters") do |name|
            facts_given[:value] = Values.fetch(name).name
          end
        end

        def plan
          values = (settings.quick ? QUICK_VALUES : VALUES).map { |name| Values.fetch(name) }
          comparisons_of(values, [Operations.fetch("read")], parse_all([PLAIN, COMPRESSED, NEAR]))
        end

        def plan_in_words
          "The loop: #{design.slots.size} rows, #{design.loaded.size} stores at #{design.rates.size} rates, " \
            "#{design.processes} processes, about #{Report::Format.minutes(design.expected_seconds)}; then:"
        end

        def take(comparisons)
          trial = tried(Trial)
          facts = { iterations: design.iterations, long_iterations: design.long_iterations, arrivals: design.arrivals,
                    value: design.value, processes: design.processes, versions: trial.versions }
          run.table("loop", trial.rows, **facts)
          run.table("load", trial.loads, **facts)
          super
        end

        # @return [Design]
        def design
          @design ||= Design.of(quick: settings.quick, own: settings.urls, contestants:, **facts_given)
        end

        private

        # Refuses stores whose servers have no proxy.
        def contestants
          found = @stores || parse_all(Design::STORES)
          found.each do |contestant|
            other = contestant.servers - Load::Site::QUESTIONS.keys
            next if other.empty?
            raise UsageError, "--store #{contestant.text}: latency measures memcached and redis, not #{other.first}"
          end
        end
      end

      # Shows percentiles of the latency by the offered load.
      class LoadSection
        SHARES = { "p50" => 0.5, "p90" => 0.9, "p99" => 0.99, "p99.9" => 0.999 }.freeze
        SPECTRUM = [0.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99].freeze
        KINDS = { "response" => "intended", "service" => "service" }.freeze

        # One store at one offered rate, in all processes.
        Offer = Struct.new(:store, :place, :rate, :rows) do
          def name = "#{store}, #{place}"

          def failed = rows.find { |row| !Engine::Outcome.measured?(row) }

          # A mean would hide a single overloaded process.
          def carried? = failed.nil? && share >= Load::Driver::LEAST_SHARE

          def share = rows.map { |row| row["share"] }.min

          def mean(fact) = rows.sum { |row| row[fact] } / rows.size

          def merged(kind) = histograms(kind).reduce(Statistics::Histogram.new) { |sum, one| sum.merge!(one) }

          def histograms(kind) = rows.map { |row| Statistics::Histogram.from_h(row[kind]) }
        end

        # @param view [View]
        # @param rows [Array<Hash>] rows of the recorded table "load"
        # @param arrivals [String]
        def initialize(view, rows, arrivals)
          @view = view
          @arrivals = arrivals
          @offers = rows.group_by { |row| [*row.values_at("store", "place"), rate(row)] }
                        .map { |key, group| Offer.new(*key, group) }
        end

        # @param document [Report::Document]
        # @return [void]
        def add_to(document)
          return if @offers.empty?
          document.section("Latency under load") do |section|
            section.text(words)
            section.add(table)
            spectra.each { |chart| section.add(chart) }
            section.add(by_load) if carried.size > 1
          end
        end

        private

        def words
          least = (Load::Driver::LEAST_SHARE * 100).round
          "Fetches that hit, by one client on one connection, at #{@arrivals} intervals whether the one before was " \
            "answered or not. Every store gets the same rates. A store that carried less than #{least} % of a rate " \
            "is overloaded: its latency grows for as long as the load lasts. *Intended*: from when a request was " \
            "due, its wait behind others included. *Service*: from when it was sent, which is all that a closed " \
            "loop sees."
        end

        def carried = @offers.select(&:carried?)

        # Results of older versions have a share of the store's capacity instead of a rate.
        def rate(row) = row.fetch("rate") { (row["share_of_capacity"] * row["capacity"]).round }

        # An offer that was carried has two rows: from when requests were due, and from when they were sent.
        def table
          rows = @offers.flat_map { |offer| (offer.carried? ? KINDS.keys : KINDS.keys.first(1)).map { [offer, _1] } }
          @view.columns_table("Latency: percentiles by offered load", rows, columns, labels: 1,
                              note: "Milliseconds; brackets: least and most of the processes.",
                              reason: ->((offer, _kind)) { @view.failure(offer) })
        end

        def columns
          { "store" => ->((offer, _)) { "#{offer.name}, #{Report::Format.number(offer.rate)}/s" },
            "offered" => [->((offer, _)) { offer.mean("offered") }, "/s"],
            "achieved" => [->((offer, _)) { offer.mean("achieved") }, "/s"],
            "latency from" => ->((_, kind)) { KINDS.fetch(kind) },
            **SHARES.to_h { |name, share| [name, [percentile(name, share), "ms"]] },
            "max" => [->((offer, kind)) { offer.merged(kind).max / 1e6 if offer.carried? }, "ms"] }
        end

        def percentile(name, share)
          lambda do |(offer, kind)|
            return (LoadSection.overload(offer) if name == "p99") unless offer.carried?
            each = offer.histograms(kind).map { |histogram| histogram.quantile(share) / 1e6 }
            Statistics::Interval.new(offer.merged(kind).quantile(share) / 1e6, *each.minmax)
          end
        end

        # The latency of an overloaded store rises for as long as the load lasts, so its p99 is a lower bound.
        #
        # @param offer [Offer]
        # @return [Report::Cell]
        def self.overload(offer)
          least = Report::Format.with_unit(offer.merged("response").quantile(0.99) / 1e6, "ms")
          rising = offer.rows.any? { |row| row.fetch("rising", true) } ? ", rising" : ""
          note = "Overloaded: #{Report::Format.number(offer.share * 100)} % of the rate was carried."
          Report::Cell.text("at least #{least}#{rising}", note:)
        end

        # Draws a chart for each store, at the highest rate that it carried.
        def spectra
          carried.group_by(&:name).map do |name, offers|
            most = offers.max_by(&:rate)
            title = "Latency: #{name}, at #{Report::Format.number(most.rate)}/s"
            chart = Report::Charts::PercentileSpectrum.new(title, unit: "ms")
            { "from when it was due" => "response", "service alone" => "service" }.each do |words, kind|
              chart.series(words, spectrum(most.merged(kind)))
            end
            chart
          end
        end

        # Leaves out percentiles for which there are too few requests.
        def spectrum(histogram)
          SPECTRUM.select { |percentile| histogram.count * (1 - (percentile / 100)) >= 1 }
                  .map { |percentile| [percentile, [histogram.quantile(percentile / 100), 1].max / 1e6] }
        end

        def by_load
          series = carried.group_by(&:name).transform_values do |offers|
            offers.map { |offer| [offer.rate, offer.merged("response").quantile(0.99) / 1e6] }
          end
          @view.line_chart("Latency: p99 by offered load", series, x: "offered, requests a second", y: "ms",
                                                                   y_scale: :log, command: nil)
        end
      end

      # Computes where compression, or a near tier, starts to pay. The inputs are measured reads over the loopback and
      # of the near backend.
      class BreakEven
        # The payload of a TCP segment over Ethernet, and the initial congestion window. The window doubles with each
        # round trip (RFC 6928, RFC 5681).
        SEGMENT_BYTES = 1_460
        FIRST_SEGMENTS = 10
        HIT_SHARES = [0.5, 0.8, 0.95].freeze
        CANNOT_TELL = "The interval of what it costs on the loopback has zero in it: more or less than nothing."

        # @param view [View]
        # @param loop_rows [Array<LoopRow>]
        def initialize(view, loop_rows)
          @view = view
          @loop_rows = loop_rows
          @groups = view.cells(operation: "read").group_by { |cell| cell["value"] }
        end

        # @param bytes [Integer] size of an answer in bytes
        # @return [Integer] round trips until all has been sent
        def self.rounds(bytes)
          rounds, room, window = 0, 0, FIRST_SEGMENTS * SEGMENT_BYTES
          while room < bytes
            room += window
            window *= 2
            rounds += 1
          end
          [rounds, 1].max
        end

        # @param document [Report::Document]
        # @return [void]
        def add_to(document)
          return if @groups.empty?
          document.section("From where on it pays") do |section|
            section.text("Computed, not measured: from reads that were measured over the loopback, interleaved.")
            section.add(measured)
            section.add(compressing)
            section.add(near_tier)
          end
        end

        private

        def measured
          @view.columns_table("Latency: the measured parts", @groups.values.flatten(1),
                              { "value" => "value", "store" => :name, "a read" => :time, "bytes" => :bytes })
        end

        def name(cell) = @view.name(cell)

        def compressing
          header = ["value", "bytes saved", "cost of it a read", "bandwidth below which it pays",
                    "round trip above which it pays"]
          note = "The last column is for a connection that was idle: #{FIRST_SEGMENTS} segments, doubled with each " \
                 "round trip (RFC 6928). Where both answers need as many, distance alone never pays for it."
          Report::Table.new("Latency: where compressing pays (computed)", header:, note:,
                            rows: @groups.map { |value, cells| [value, *compression(*cells.first(2))] })
        end

        def compression(plain, packed = nil)
          failed = [plain, packed].find { |cell| cell.nil? || !@view.measured?(cell) }
          return [failed ? @view.missing(failed) : "", "", "", ""] if failed || packed.nil?
          before, after = [plain, packed].map { |cell| cell.dig("exact", "stored_bytes") }
          cost = difference(*times(packed, plain))
          [before - after, @view.figure(cost.map { |ns| ns / 1e3 }, "us"),
           bandwidth(before - after, cost), distance(BreakEven.rounds(before) - BreakEven.rounds(after), cost)]
        end

        # @return [Array(Statistics::Interval, Statistics::Interval)] intervals of their medians, in ns
        def times(*cells) = cells.map { |cell| @view.interval(cell["summary"]["ns"]) }

        # Subtracts two intervals, with the bounds farthest apart.
        def difference(mine, theirs)
          Statistics::Interval.new(mine.estimate - theirs.estimate, mine.low - theirs.high, mine.high - theirs.low)
        end

        # bytes * 8 bits by nanoseconds is Gbit/s.
        def bandwidth(saved, cost)
          return "never: nothing is saved" unless saved.positive?
          return free unless cost.high.positive?
          return cannot_tell unless cost.low.positive?
          @view.figure(cost.inverse.map { |per_ns| saved * 8e3 * per_ns }, "Mbit/s")
        end

        def distance(rounds, cost)
          return "never by distance alone" unless rounds.positive?
          milliseconds(cost.map { |ns| ns / rounds })
        end

        def milliseconds(nanoseconds)
          return free unless nanoseconds.high.positive?
          return cannot_tell unless nanoseconds.low.positive?
          @view.figure(nanoseconds.map { |ns| ns / 1e6 }, "ms")
        end

        def free = "any: it pays on the loopback"

        def cannot_tell = Report::Cell.text("cannot tell from here", muted: true, note: CANNOT_TELL)

        def near_tier
          header = ["value", "near", "far", "least hits on the loopback",
                    *HIT_SHARES.map { |share| "#{(share * 100).round} % hits near" }]
          note = "A read costs near + (1 - hits) x (far + distance) with the tier, far + distance without: it pays " \
                 "from near / hits - far on."
          Report::Table.new("Latency: the round trip from which a near tier pays (computed)", header:, note:,
                            rows: @groups.map { |value, cells| [value, *tier(cells)] })
        end

        def tier(cells)
          far = cells.first
          near = cells.find { |cell| cell.dig("contestant", "medium") == "process" }
          unless near && [near, far].all? { |cell| @view.measured?(cell) }
            return ["", @view.missing(near || far), *[""] * (HIT_SHARES.size + 1)]
          end
          [name(near), name(far), least_hits(near, far), *HIT_SHARES.map { |share| tier_distance(near, far, share) }]
        end

        # The share of hits at which the tier costs as much as it saves, without any distance.
        def least_hits(near, far)
          mine, theirs = times(near, far)
          @view.figure(mine.over(theirs).map { |share| share * 100 }, "%")
        end

        def tier_distance(near, far, share)
          mine, theirs = times(near, far)
          milliseconds(difference(mine.map { |ns| ns / share }, theirs))
        end
      end

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

  module Tables
    add Latency::Table
  end
end
