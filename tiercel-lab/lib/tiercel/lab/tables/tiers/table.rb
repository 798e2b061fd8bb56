# frozen_string_literal: true

require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # Stores with tiers: the cost of near and far hits, the cost of a read by the share of near hits, how long another
      # machine reads stale values, and how many changes it sees.
      module Tiers
        class Table < Tables::Table
          called "tiers", "Tiers: near and far hits, and stale reads on other machines."
          example "tiers --quick", "tiers --store 'tiercel:shared: redis:' --round-trips 0,1",
                  "tiers --store 'tiercel:memory: shared: redis:' --no-cells"
          takes :quick, :seed, :cells
          in_all 65, arguments: ["--store", "tiercel:shared: redis:", "--round-trips", "0,1,5", "--busy", "0,1"]
          # A short budget is enough, because the last tier's cost is not broken down.
          full blocks: 6, budget_seconds: 150

          VALUES = %w[string-1kb-2000 html-24kb-500].freeze
          QUICK_VALUES = %w[string-1kb-2000].freeze

          def options(parser)
            parser.on("--store STORE", "with tiers, repeatable; default: #{Design::FULL.stores.join(", ")}") do |text|
              (@stores ||= []) << Stack.new(text).text
            end
            value_option(parser, default: VALUES.join(", "))
            fact parser, "--round-trips A,B", "ms to the server, by a delay proxy (0,0.25,0.5,1,2,5)", :round_trips_ms,
                 :zero
            fact parser, "--changes N", "number of watched changes (300; quick 60)", :changes, :count
            fact parser, "--busy A,B", "computing threads on the watching machine (0,1,3)", :busy, :zero
            parser.on("--no-cells", "without the cost of hits") { @no_cells = true }
          end

          # The near tier alone is the baseline.
          def plan
            return [] if @no_cells
            values = chosen_values(settings.quick ? QUICK_VALUES : VALUES)
            design.stacks.product(values).map do |stack, value|
              contestants = parse_all(stack.contestants)
              Engine::Comparison.of(value:, operation: Operations.fetch("wall_read"), contestants:)
            end
          end

          def plan_in_words
            shares = design.shares.map { |share| (share * 100).round }.join(", ")
            distances = design.round_trips_ms.join(", ")
            "#{design.stores.join(", ")}: shares of #{shares} % near at round trips of #{distances} ms; " \
              "#{design.changes} changes that another machine looks for, beside #{design.busy.join(", ")} busy " \
              "threads; #{design.burst} writes at once."
          end

          def take(comparisons)
            cells(comparisons) if comparisons.any?
            trial = tried(Trial)
            run.table("shares", trial.rows, **design.to_h)
            run.table("staleness", trial.staleness)
            run.table("bursts", trial.bursts)
          end

          # @return [Design]
          def design = @design ||= designed(Design, stores: @stores, busy: facts_given[:busy]&.map(&:to_i))
        end
      end

      add Tiers::Table
    end
  end
end
