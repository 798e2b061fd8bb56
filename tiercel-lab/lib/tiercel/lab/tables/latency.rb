# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # The loop of the second article with near and far servers.
    module Latency
      # The measured stores and distances.
      #
      # @!attribute [r] contestants
      #   @return [Array<Contestant>]
      # @!attribute [r] round_trips_ms
      #   @return [Array<Float>] delays of the proxy
      # @!attribute [r] iterations
      #   @return [Integer] number of iterations of the loop
      # @!attribute [r] budget_seconds
      #   @return [Numeric] longest duration of one run of the loop; a slower loop has fewer iterations
      # @!attribute [r] processes
      #   @return [Integer]
      # @!attribute [r] value
      #   @return [String, nil] name of a value; nil: the article's 1,001 characters
      Design = Data.define(:contestants, :round_trips_ms, :iterations, :budget_seconds, :processes, :value)

      class Design
        STORES = %w[redis_cache_store mem_cache_store tiercel:redis: tiercel:memcached: tiercel:shared:
                    memory_store].freeze
        # The places in the article, by their round trips: half of the article's time of an iteration.
        NAMED = { 1.0 => "Compose", 1.4 => "MemCachier", 1.9 => "ElastiCache", 57.0 => "a home in another city" }.freeze
        FULL = new(round_trips_ms: [0.0, 0.25, 0.5, *NAMED.keys.first(3), 5.0, 20.0, *NAMED.keys.last(1)],
                   contestants: [], iterations: 1_000, budget_seconds: 3, processes: 4, value: nil)
        # A quick run has the article's distances, and fewer iterations of slow loops.
        QUICK = FULL.with(round_trips_ms: [0.0, *NAMED.keys], budget_seconds: 0.2)
        # Seconds to start a process and to build its stores.
        PROCESS_SECONDS = 3.0
        # The least number of iterations of a run, and of measured round trips.
        LEAST = 5
        # Maximum number of round trips measured in each process, and the time for them.
        ROUND_TRIPS = 50
        ROUND_TRIP_SECONDS = 0.5

        # The place of a store without a server of the lab, by its medium.
        PLACES = { process: "in process", disk: "disk" }.freeze

        # A store in one place: on loopback, or behind a proxy that adds a delay.
        #
        # @!attribute [r] contestant
        #   @return [Contestant]
        # @!attribute [r] delay_ms
        #   @return [Float, nil] asked of the proxy
        Slot = Data.define(:contestant, :delay_ms) do
          # @return [String]
          def place
            return ["+#{delay_ms.to_s.delete_suffix(".0")} ms", NAMED[delay_ms]].compact.join(", ") if delay_ms
            contestant.servers.any? ? "loopback" : PLACES.fetch(contestant.medium)
          end
        end

        # @param text [String] a word of a place's name
        # @return [Float, nil] its round trip in ms
        def self.named(text) = NAMED.find { |_ms, name| name.downcase.split.include?(text.downcase) }&.first

        # @return [Array<Slot>]
        def slots
          far = contestants.select { |contestant| contestant.servers.any? }
          [nil, *round_trips_ms].flat_map do |delay_ms|
            (delay_ms ? far : contestants).map { |contestant| Slot.new(contestant:, delay_ms:) }
          end
        end

        # @return [Integer] iterations that warm up and estimate the speed: about a tenth of a second
        def warm_up(slot) = (0.1 / iteration_seconds(slot)).floor.clamp(1, 300)

        # @param seconds [Float] of an iteration
        # @return [Integer] iterations of a run
        def count(seconds) = (budget_seconds / seconds).floor.clamp([LEAST, iterations].min, iterations)

        # @return [Integer] round trips that each process measures
        def samples(slot) = (ROUND_TRIP_SECONDS * 1e3 / [slot.delay_ms || 0, 1].max).floor.clamp(LEAST, ROUND_TRIPS)

        # @param slot [Slot]
        # @return [Float] the estimate for one run, its warm-up and its round trips, each of which is half an iteration
        def run_seconds(slot)
          seconds = iteration_seconds(slot)
          (seconds * (warm_up(slot) + count(seconds) + (samples(slot) / 2.0))) + 0.05
        end

        # @return [Float] the estimate for the whole table
        def expected_seconds
          processes * (PROCESS_SECONDS + slots.sum { |slot| run_seconds(slot) })
        end

        private

        # An iteration makes two calls; a proxy takes about as long as a server.
        def iteration_seconds(slot)
          return 1e-5 if slot.contestant.medium == :process
          2 * (slot.delay_ms ? slot.delay_ms + 0.2 : 0.1) / 1e3
        end
      end

      # The recorded runs of one store in one place.
      class LoopRow
        # @param rows [Array<Hash{String => Object}>]
        # @return [Array<LoopRow>] with the runs of those processes that ran every row, so that times and percentages
        #   agree; an interrupted process ran some rows only
        def self.of(rows)
          ran = rows.select { |row| Engine::Outcome.measured?(row) && row["runs"].any? }
          common = ran.map { |row| row["runs"].map { |run| run["process"] } }.reduce(:&).to_a
          rows.map { |row| new(row, row["runs"].select { |run| common.include?(run["process"]) }) }
        end

        # @param row [Hash{String => Object}]
        # @param runs [Array<Hash{String => Object}>] those of its runs that count
        def initialize(row, runs)
          @row = row
          @runs = runs
        end

        # @param name [String] name of a recorded fact
        # @return [Object]
        def [](name) = @row[name]

        # @return [Boolean]
        def figures? = Engine::Outcome.measured?(@row) && @runs.any?

        # @return [Report::Cell, nil] why there are no figures
        def reason
          return if figures?
          words = [(@row["status"] unless @row["status"] == "measured"), @row["reason"]].compact
          Report::Cell.missing(words.empty? ? "not measured: interrupted" : words.join(": "))
        end

        # @return [Statistics::Interval] seconds
        def per_iteration = @per_iteration ||= Statistics::MedianInterval.of_times(speeds.values.map(&:values))

        # @param count [Integer] iterations
        # @return [Statistics::Interval] seconds
        def real(count) = per_iteration.map { |seconds| seconds * count }

        # @return [Statistics::Interval] of an iteration
        def milliseconds = per_iteration.map { |seconds| seconds * 1e3 }

        # @return [String] "0.120 ms [0.115-0.131]"
        def words = Report::Cell.interval(milliseconds, unit: "ms").to_s

        # @param count [Integer]
        # @return [Array<Float>] user, system and both, CPU seconds of the client, means
        def cpu(count)
          user, system = %w[user system].map do |name|
            @runs.sum { |run| run[name] } / @runs.sum { |run| run["iterations"] } * count
          end
          [user, system, user + system]
        end

        # @return [Float, nil]
        def round_trip_ms
          Statistics.median(@row["round_trips"]) * 1e3 if @row["round_trips"].any?
        end

        # @param other [LoopRow]
        # @return [Statistics::Interval] time by the other's, runs of the same process and turn paired
        def ratio_to(other) = Engine::Paired.ratio(speeds, other.speeds)

        # @return [Hash{Integer => Hash{Integer => Float}}] seconds an iteration, by process and turn
        def speeds
          @runs.group_by { |run| run["process"] }.transform_values do |runs|
            runs.each_with_index.to_h { |run, turn| [turn, run["real"] / run["iterations"]] }
          end
        end
      end

      # Measures a {Design} with fresh client processes. In each process all stores and places take turns, in order
      # and in reverse. Each place of a store has a store object of its own, and each distance to a server has a proxy.
      class Trial < Load::Trial
        # A request with a single line as its answer, of each server that can be far.
        QUESTIONS = { memcached: "version\r\n", redis: "PING\r\n" }.freeze

        # A row for each slot of the design.
        def initialize(...)
          super
          @by_slot = @design.slots.to_h { |slot| [slot, blank(**facts(slot))] }
          @rows = @by_slot.values
        end

        private

        def facts(slot)
          { store: slot.contestant.name, text: slot.contestant.text, place: slot.place, delay_ms: slot.delay_ms,
            medium: slot.contestant.medium.to_s, iterations: nil, runs: [], round_trips: [] }
        end

        def measure
          @proxies = []
          near = @pool.facts(@design.contestants.flat_map(&:servers).uniq)
          @servers_at = { nil => near }
          @design.round_trips_ms.each { |ms| @servers_at[ms] = near.transform_values { |facts| moved(facts, ms) } }
          @design.processes.times do |process|
            with_fleet(1, path: "tables/latency/client", pinnings: [@pinning]) do |fleet|
              run_process(fleet.jobs.first, process)
            end
          end
          rows.each { |row| note(row, @lost) if @lost && row["runs"].empty? }
        ensure
          @proxies&.each(&:stop)
        end

        # Puts a delay proxy in front of a server.
        def moved(facts, ms)
          return facts if facts["error"]
          proxy, moved = Network::Proxy.before(facts, cpu: @pinning.server_cpu, delay: ms / 1e3)
          @proxies << proxy
          moved
        rescue IO::TimeoutError
          { "error" => "the delay proxy did not start in time: the machine is too busy" }
        end

        def run_process(client, process)
          @client = client
          running.each_with_index { |slot, index| open(slot, label(process, index)) }
          @progress.advance(Design::PROCESS_SECONDS, "stores built")
          in_turn(@design.slots, process).each { |slot| run_loop(slot, process) if running.include?(slot) }
          running.each { |slot| ask_round_trip(slot) }
          running.each { |slot| ask(slot, "verify") }
        rescue WorkerLost => e # the other processes count
          @progress.say("process #{process} of #{@design.processes} is lost: #{e.message}")
          @lost = Engine::Outcome.failure(Engine::Outcome::CANNOT_RUN, e.message)
        end

        def running = @design.slots.select { |slot| measured?(@by_slot[slot]) }

        def open(slot, label)
          context = { servers: @servers_at.fetch(slot.delay_ms), folders: @scratch.folders, label: }
          ask(slot, "open", text: slot.contestant.text, value: @design.value, seed: @seed, context:)
        end

        # @return [Hash, nil] the answer; nil after a failure, which the row records
        def ask(slot, method, **arguments)
          outcome = @client.call(method, id: "#{slot.contestant.name} #{slot.delay_ms}", **arguments)
          return outcome if measured?(outcome)
          note(@by_slot[slot], outcome)
          nil
        end

        # The first process determines the number of iterations; all processes use it.
        def run_loop(slot, process)
          warm_up = @design.warm_up(slot)
          probed = ask(slot, "iterate", count: warm_up) or return
          count = @by_slot[slot]["iterations"] ||= @design.count(probed["real"] / warm_up)
          timed = ask(slot, "iterate", count:) or return
          figures = timed.slice("real", "user", "system")
          @by_slot[slot]["runs"] << { "process" => process, "iterations" => count, **figures }
          @progress.advance(@design.run_seconds(slot), "#{slot.contestant.name}, #{slot.place}")
        end

        def ask_round_trip(slot)
          name = slot.contestant.servers.first or return
          host, port = @servers_at.fetch(slot.delay_ms).fetch(name.to_s)["url"][Network::Proxy::PLACE].split(":")
          @by_slot[slot]["round_trips"] << @client.call("round_trip", host:, port: port.to_i,
                                                        samples: @design.samples(slot), request: QUESTIONS.fetch(name))
        rescue WorkerLost
          nil # the server refuses, perhaps without a password; the loop has its figures
        end
      end

      class Table < Tables::Table
        called "latency", "Latency by distance to the server."
        example "latency --quick", "latency --round-trips 0,0.25,1 --store redis_cache_store"
        takes :quick, :seed, :require
        in_all 60

        def options(parser)
          store_option(parser, default: Design::STORES.join(", "))
          named = Design::NAMED.map { |ms, name| "#{name} (#{ms})" }.join(", ")
          parser.on("--round-trips A,B", Array, "added ms, or places of the article: #{named}") do |texts|
            facts_given[:round_trips_ms] = texts.map { |text| Design.named(text) || cast(text, "--round-trips", :zero) }
          end
          fact parser, "--iterations N", "of the loop (1000)", :iterations, :count
          parser.on("--value NAME", "value instead of the article's 1,001 characters") do |name|
            facts_given[:value] = Values.fetch(name).name
          end
        end

        def plan_in_words = "The loop: #{design.slots.size} rows, #{design.processes} processes."

        def take(_comparisons)
          run.table("loop", tried(Trial).rows, **design.to_h.slice(:iterations, :value, :processes))
        end

        # @return [Design]
        def design = @design ||= designed(Design, contestants:)

        private

        # Refuses stores whose servers have no proxy.
        def contestants
          found = @stores || parse_all(Design::STORES)
          found.each do |contestant|
            other = contestant.servers - Trial::QUESTIONS.keys
            next if other.empty?
            raise UsageError, "--store #{contestant.text}: latency measures memcached and redis, not #{other.first}"
          end
          remote = found.find(&:foreign?) or return found
          raise UsageError, "--store #{remote.text}: latency measures servers of the lab; `compare --url` takes yours"
        end
      end

      class View < Tables::View
        article(/iterations\z|beside ours\z/)

        BASELINE = "redis_cache_store"
        quick "Quick: few distances, fewer iterations where one is slow."

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

        def fill(document)
          document.section("The loop") { |section| add_loop(section) }
          document.section("The article") { |section| section.add(article) }
        end

        def failure(row) = row.reason

        # @return [Array<LoopRow>]
        def loop_rows = @loop_rows ||= LoopRow.of(rows("loop"))

        # The baseline: Redis on this machine, as in the article, or the first row with figures.
        #
        # @return [LoopRow, nil]
        def baseline
          near = loop_rows.select { |row| row.figures? && row["delay_ms"].nil? && row["medium"] != "process" }
          near.find { |row| row["store"] == BASELINE } || near.first || loop_rows.find(&:figures?)
        end

        private

        # The article's configurations beside ours at the same round trip.
        def article
          rows = Published.of("latency").map do |machine, name, count, seconds, cpu, percent, store, place|
            ours = loop_rows.find { |row| row["store"] == store && row["place"] == place && row.figures? }
            [machine, name, count, figure(seconds, "s"), cpu_words(cpu), percent && "#{percent} %", place,
             ours ? figure(ours.real(count), "s") : "", ours ? cpu_words(ours.cpu(count).first(2)) : "",
             ours ? figure(share_of_baseline(ours), "%") : ""]
          end
          Report::Table.new("Latency: the article's figures beside ours", rows:,
                            header: ["machine", "configuration", "iterations", "article: real",
                                     "article: user + system", "article: % of local Redis", "here: place",
                                     "here: real", "here: user + system", "here: % of baseline"],
                            note: "Published in 2015, for other machines and versions. Our place has the round trip " \
                                  "of the article's: half of one iteration of its loop. Ours are computed from the " \
                                  "iterations of the table above.")
        end

        def cpu_words(seconds) = seconds.map { |part| Report::Format.number(part) }.join(" + ")

        def others = loop_rows.select { |row| row.figures? && !row.equal?(baseline) }

        def farthest
          others.reverse.find { |row| row["delay_ms"] && row["store"] == baseline["store"] }
        end

        # The first in-process store of Tiercel.
        def nearest = others.find { |row| row["medium"] == "process" && row["store"].start_with?("tiercel") }

        def by_baseline(row)
          leader = Leader.new({ row => row.ratio_to(baseline), baseline => Statistics::Interval.new(1.0, 1.0, 1.0) },
                              margin: protocol.margin_for([:loopback]), equality: protocol.equality)
          "with #{row["store"]} (#{row["place"]}) #{leader.compared(row, baseline, baseline["store"])} (#{row.words})"
        end

        def iterations_words = Report::Format.number(notes("loop")["iterations"])

        def add_loop(section)
          section.text("`exist?` and `fetch` of one stored name, #{iterations_words} times; in seconds. A delay " \
                       "proxy on this machine adds the distance; the round trip is measured through the proxy. " \
                       "User, system and total are CPU time of the client. Percentages are of runs that took turns.")
          columns = loop_columns(notes("loop")["iterations"])
          section.add(columns_table("Latency: #{iterations_words} iterations", loop_rows, columns, labels: 2))
          chart = chart_of_distance and section.add(chart)
        end

        def loop_columns(count)
          cpu = %w[user system total].each_with_index.to_h do |name, index|
            [name, ->(row) { figure(row.cpu(count)[index], "s", digits: 3) }]
          end
          { "store" => "store", "place" => "place", "round trip" => [->(row) { row.round_trip_ms || "none" }, "ms"],
            "iterations" => "iterations", "real" => ->(row) { real_cell(row, count) }, **cpu,
            "% of baseline" => [:share_of_baseline, "%"] }
        end

        def real_cell(row, count)
          note = "Computed from as many iterations as its column says." if row["iterations"] < count
          figure(row.real(count), "s", note:)
        end

        def chart_of_distance
          stores = loop_rows.select { |row| row.figures? && row.round_trip_ms }.group_by { |row| row["store"] }
          return if stores.none? { |_name, rows| rows.size > 1 }
          series = stores.transform_values do |rows|
            rows.map { |row| [row.round_trip_ms, *row.milliseconds.to_h.values] }
          end
          line_chart("Latency: one iteration by round trip", series, x: "measured round trip, ms", y: "ms",
                                                                     x_scale: :log, y_scale: :log, command: nil)
        end

        def share_of_baseline(row)
          return "baseline" if row.equal?(baseline)
          row.ratio_to(baseline).map { |value| value * 100 }
        end
      end
    end
  end
end
