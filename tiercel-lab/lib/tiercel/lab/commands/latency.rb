# frozen_string_literal: true

require_relative "../documents/latency"
require_relative "../latency/design"
require_relative "../latency/trial"
require_relative "../table_command"
require_relative "../terminal/figures"

module Tiercel
  module Lab
    module Commands
      # The second article's loop, near and far, and what distance makes worth while.
      class Latency < TableCommand
        called "latency",
               "What the way to the server costs: exist? + fetch near and far, latency under load, break-evens."
        example "latency --quick", "latency --round-trips 0,0.25,1 --store redis_cache_store",
                "latency --url production=redis://10.0.0.7:6379/0", "latency --arrivals constant --loads 50,80,95"

        # What break-evens are computed from: reads of these, compressed and not.
        VALUES = %w[html-2kb rows-50 html-822kb].freeze
        QUICK_VALUES = %w[html-2kb html-822kb].freeze
        PLAIN = "redis_cache_store#compress=false"
        # Everything is compressed, however small: where that pays is the question.
        COMPRESSED = "redis_cache_store#compress=true,compress_threshold=1"
        NEAR = "tiercel:shared:"
        # Blocks of those reads in a quick run, which looks at the loop above all.
        QUICK_BLOCKS = 3
        FULL = Protocol::FULL.vary(processes: 4, most_processes: 8, blocks: 4, budget_seconds: 60)

        def self.document(results, command:) = Documents::Latency.new(results, command:).build

        def options(parser)
          parser.on("--store STORE", "repeatable; default: #{Lab::Latency::Design::STORES.join(", ")}") do |text|
            (@stores ||= []) << Contestants.parse(text)
          end
          parser.on("--round-trips A,B", Array, "ms that are added (0,0.25,0.5,1,5,20)") do |list|
            @round_trips = numbers(list)
          end
          parser.on("--bandwidth A,B", Array, "caps in Mbit/s (100,10)") { |list| @megabits = positive(list) }
          parser.on("--iterations N", Integer, "of the loop (1000)") { |count| @iterations = at_least_one(count) }
          parser.on("--loads A,B", Array, "offered, in % of what a closed loop reaches (25,50,75,90,110)") do |list|
            @loads = positive(list).map { |percent| percent / 100.0 }
          end
          parser.on("--arrivals KIND", Lab::Latency::OpenLoop::ARRIVALS, "exponential or constant gaps") do |kind|
            @arrivals = kind
          end
          parser.on("--value NAME", "in place of the article's 1,001 characters") do |name|
            @value = Values.fetch(name).name
          end
        end

        def plan
          (settings.quick ? QUICK_VALUES : VALUES).map do |name|
            contestants = [PLAIN, COMPRESSED, NEAR].map { |text| Contestants.parse(text) }
            Comparison.of(value: Values.fetch(name), operation: Operations.fetch("read"), contestants:,
                          baseline: contestants.first)
          end
        end

        def expected_seconds = design.expected_seconds + super.to_f

        def take(comparisons)
          trial = Lab::Latency::Trial.new(design, seed: settings.seed, requires: settings.requires)
          session.watch(design.expected_seconds) { |progress| trial.run(progress) }
          record(trial)
          @measurement = session.measure(comparisons, protocol:)
        end

        def exit_code
          states = results["tables"].flat_map { |table| table["rows"] }.map { |row| row["status"] }
          states.intersect?(["misses", "wrong values"]) ? ExitCodes::WRONG_VALUES : super
        end

        # @return [Lab::Latency::Design]
        def design
          @design ||= Lab::Latency::Design.of(
            quick: settings.quick, own: settings.urls, value: @value, round_trips_ms: @round_trips, megabits: @megabits,
            contestants: @stores || Lab::Latency::Design::STORES.map { |text| Contestants.parse(text) },
            iterations: @iterations, loads: @loads, arrivals: @arrivals
          )
        end

        private

        def protocol = settings.quick ? settings.protocol.vary(blocks: QUICK_BLOCKS) : FULL

        def record(trial)
          facts = { iterations: design.iterations, long_iterations: design.long_iterations, arrivals: design.arrivals,
                    value: design.value, processes: design.processes, versions: trial.versions }
          session.recorder.table("loop", trial.rows.values, **facts)
          session.recorder.table("load", trial.loads, **facts)
        end

        def print_plan(comparisons)
          slots = design.slots
          out.puts "The loop: #{slots.size} rows, #{design.loaded.size} stores under #{design.loads.size} loads, " \
                   "#{design.processes} processes, about #{Terminal::Figures.duration(design.expected_seconds)}; " \
                   "then:", ""
          super
        end

        def numbers(list)
          list.map do |text|
            number = Float(text, exception: false)
            next number if number && number >= 0
            raise UsageError, "#{text.inspect}: expected numbers >= 0, separated by commas"
          end
        end

        def positive(list)
          numbers(list).each { |number| raise UsageError, "#{number}: expected numbers > 0" unless number.positive? }
        end

        def at_least_one(count)
          count.positive? ? count : raise(UsageError, "--iterations #{count}: expected 1 or more")
        end
      end

      add Latency
    end
  end
end
