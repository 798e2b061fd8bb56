# frozen_string_literal: true

require_relative "../table"
require_relative "design"
require_relative "operations"
require_relative "trial"
require_relative "view"

module Tiercel
  module Lab
    module Tables
      # Stores with tiers: what a hit costs near and far, what a read costs by the share of near hits, how long another
      # machine reads what has been changed, and how many changes it hears of.
      module Tiers
        class Table < Tables::Table
          called "tiers", "Tiers: near and far hits, and what other machines still read."
          example "tiers --quick", "tiers --store 'tiercel:shared: redis:' --round-trips 0,1",
                  "tiers --store 'tiercel:memory: shared: redis:' --no-cells"
          takes :quick, :seed, :cells
          in_all 65, arguments: ["--store", "tiercel:shared: redis:", "--round-trips", "0,1,5", "--busy", "0,1"]
          # This table does not break down the last tier's cost.
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
            fact parser, "--changes N", "whose age another machine tells (300; quick 60)", :changes, :count
            fact parser, "--busy A,B", "threads that compute in the machine that looks (0,1,3)", :busy, :zero
            parser.on("--no-cells", "without the cost of hits") { @no_cells = true }
          end

          # The near tier alone first: what the stack's hits are compared with.
          def plan
            return [] if @no_cells
            design.stacks.product(values).map do |stack, value|
              contestants = parse_all(stack.contestants)
              Engine::Comparison.of(value:, operation: Operations.fetch("wall_read"), contestants:)
            end
          end

          def expected_seconds = super.to_f + design.expected_seconds

          def plan_in_words
            shares = design.shares.map { |share| (share * 100).round }.join(", ")
            distances = design.round_trips_ms.join(", ")
            "#{design.stores.join(", ")}: shares of #{shares} % near at round trips of #{distances} ms; " \
              "#{design.changes} changes that another machine looks for, beside #{design.busy.join(", ")} busy " \
              "threads; #{design.burst} writes at once."
          end

          def take(comparisons)
            cells(comparisons) if comparisons.any?
            trial = Trial.new(design, seed: settings.seed, requires: settings.requires)
            run.try(trial, design.expected_seconds)
            run.table("shares", trial.rows, **design.to_h)
            run.table("staleness", trial.staleness)
            run.table("bursts", trial.bursts)
          end

          # @return [Design]
          def design = @design ||= designed(Design, stores: @stores, busy: facts_given[:busy]&.map(&:to_i))

          private

          def values = chosen_values(settings.quick ? QUICK_VALUES : VALUES)
        end
      end

      add Tiers::Table
    end
  end
end
