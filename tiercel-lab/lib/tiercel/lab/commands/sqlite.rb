# frozen_string_literal: true

require_relative "../comparison"
require_relative "../documents/sqlite"
require_relative "../sqlite/contention"
require_relative "../table_command"
require_relative "../terminal/figures"

module Tiercel
  module Lab
    module Commands
      # The fifth article's tables: caches on SQLite, by the size of the value, alone and two processes at once.
      class Sqlite < TableCommand
        # Four bundles are started for each process.
        FULL = Protocol::FULL.vary(processes: 4, most_processes: 8, blocks: 4, budget_seconds: 180)
        QUICK = Protocol::QUICK.vary(processes: 2)

        called "sqlite", "Caches on SQLite: writes and reads a second by size, one process, and two at once."
        example "sqlite --quick", "sqlite --value string-10b,string-10000b --store litecache --store tiercel:sqlite:",
                "sqlite --baseline solid_cache_store", "sqlite --markdown"

        def self.document(results, command:) = Documents::Sqlite.new(results, command:).build

        def options(parser)
          parser.on("--store STORE", "repeatable; default: #{Lab::Sqlite::Design::STORES.join(", ")}") do |text|
            (@stores ||= []) << Contestants.parse(text).text
          end
          parser.on("--value A,B", Array, "of #{Values.names.join(", ")}") do |names|
            @values = names.map { |name| Values.fetch(name).name }
          end
          parser.on("--baseline STORE", "what ratios are to (#{Lab::Sqlite::Design::BASELINE})") do |text|
            @baseline = Contestants.parse(text).text
          end
        end

        def plan
          contestants = [baseline, *(design.stores - [baseline])].map { |text| Contestants.parse(text) }
          design.values.product(Lab::Sqlite::Design::OPERATIONS).map do |value, operation|
            Comparison.of(value: Values.fetch(value), operation: Operations.fetch(operation), contestants:,
                          baseline: contestants.first)
          end
        end

        def protocol = settings.quick ? QUICK : FULL

        def expected_seconds = design.expected_seconds + super.to_f

        def take(comparisons)
          super
          contention = Lab::Sqlite::Contention.new(design, seed: settings.seed, requires: settings.requires)
          session.watch(design.expected_seconds) { |progress| contention.run(progress) }
          session.recorder.table("two processes", contention.rows, processes: design.processes, rounds: design.rounds,
                                                                   seconds: design.seconds)
        end

        def exit_code
          wrong = results["tables"].flat_map { |table| table["rows"] }.any? do |row|
            ["misses", "wrong values"].include?(row["status"])
          end
          wrong ? ExitCodes::WRONG_VALUES : super
        end

        # @return [Lab::Sqlite::Design]
        def design
          @design ||= begin
            standard = settings.quick ? Lab::Sqlite::Design::QUICK : Lab::Sqlite::Design::FULL
            chosen = { values: @values, shared_values: @values && [@values.last],
                       stores: @stores, shared_stores: @stores && [baseline, *@stores].uniq }
            standard.with(**chosen.compact)
          end
        end

        private

        def baseline = @baseline || Lab::Sqlite::Design::BASELINE

        def print_plan(comparisons)
          out.puts "Two processes at once: #{design.shared_stores.size} stores, #{design.shared_values.join(", ")}, " \
                   "about #{Terminal::Figures.duration(design.expected_seconds)}; one process:", ""
          super
        end
      end

      add Sqlite
    end
  end
end
