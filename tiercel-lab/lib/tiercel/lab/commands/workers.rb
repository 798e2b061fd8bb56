# frozen_string_literal: true

require_relative "../documents/workers"
require_relative "../runner/resident_memory"
require_relative "../table_command"
require_relative "../terminal/figures"
require_relative "../workers/trial"

module Tiercel
  module Lab
    module Commands
      # The first article's claim: with several workers a shared cache beats one in each process.
      class Workers < TableCommand
        called "workers", "Stores in each process against shared ones at equal total bytes, with 1 to 8 workers."
        example "workers --quick", "workers --workers 1,2,4,8,16 --miss-ms 20",
                "workers --total 256MB --store memory_store,tiercel:shared:"

        def self.document(results, command:) = Documents::Workers.new(results, command:).build

        def options(parser)
          stores = Lab::Workers::Design::STORES.keys
          parser.on("--workers A,B", Array, "how many (1,2,4,8)") do |list|
            @counts = list.map { |text| positive(text, "--workers").to_i }
          end
          parser.on("--store A,B", Array, "of #{stores.join(", ")}") do |names|
            @stores = names.each { |name| known(name, stores) }
          end
          parser.on("--total SIZE", "for all workers together (32MB)") { |text| @total_bytes = size(text) }
          parser.on("--zipf S", "exponent of the load (1.0)") { |text| @zipf = positive(text, "--zipf") }
          parser.on("--requests N", "of all workers together (24000)") do |text|
            @requests = positive(text, "--requests").to_i
          end
          parser.on("--miss-ms MS", "what a miss's block would take (1); computed, nobody waits") do |text|
            @miss_ms = positive(text, "--miss-ms")
          end
        end

        def expected_seconds = design.expected_seconds + super.to_f

        def take(_comparisons)
          trial = Lab::Workers::Trial.new(design, seed: settings.seed, requires: settings.requires)
          session.watch(design.expected_seconds) { |progress| trial.run(progress) }
          session.recorder.table("workers", trial.rows, **design.to_h, items: design.items,
                                                        memory: Runner::ResidentMemory.kind)
        end

        def exit_code
          wrong = results["tables"].flat_map { |table| table["rows"] }.any? { |row| row["status"] == "wrong values" }
          wrong ? ExitCodes::WRONG_VALUES : ExitCodes::OK
        end

        # @return [Lab::Workers::Design]
        def design
          @design ||= begin
            given = { counts: @counts, stores: @stores, total_bytes: @total_bytes, zipf: @zipf, requests: @requests,
                      miss_ms: @miss_ms }
            (settings.quick ? Lab::Workers::Design::QUICK : Lab::Workers::Design::FULL).with(**given.compact)
          end
        end

        private

        def plan_in_words
          "#{design.stores.join(", ")} with #{design.counts.join(", ")} workers: " \
            "#{design.rounds} x #{design.configurations.size} loads of #{design.warm_up} + #{design.requests} " \
            "requests, about #{Terminal::Figures.duration(design.expected_seconds)}."
        end

        def known(name, names)
          names.include?(name) or raise UsageError, "--store #{name.inspect}: expected of #{names.join(", ")}"
        end

        def positive(text, option)
          number = Float(text, exception: false)
          number&.positive? ? number : raise(UsageError, "#{option} #{text}: expected a number > 0")
        end

        def size(text) = Values::SizedHTML.parse(text).approximate_bytes
      end

      add Workers
    end
  end
end
