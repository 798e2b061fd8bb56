# frozen_string_literal: true

require_relative "../../engine"
require_relative "counting"
require_relative "timing"

module Tiercel
  module Lab
    module Tables
      module Gate
        # Records one revision for a history: every cell of a tree, counted, and timed by the reference work beside it.
        class Recording
          REFERENCE = "reference=reference_work"

          # @param cells [Array<GatedCell>]
          # @param tree [Tree]
          # @param options [Hash] of {Engine::Trial#initialize}
          def initialize(cells, tree, run:, configuration:, **options)
            @cells = cells
            @tree = tree
            @run = run
            @configuration = configuration
            @options = options
          end

          # @return [Engine::Measurement]
          def take
            counting = Counting.new([@tree], cells: @cells, **@options)
            @run.try(counting, counting.expected_seconds)
            @run.table("counted", counting.rows)
            @run.measure(@cells.map { |cell| comparison(cell) }, protocol:)
          end

          private

          # As many processes each night.
          def protocol
            Timing::PROTOCOL.with(most_processes: nil, budget_seconds: @configuration.budget_seconds)
          end

          def comparison(cell)
            reference = Contestants.parse(REFERENCE).extend(Sides::Side::Placed)
                                   .run_with("reference work", @tree.bundle)
            Engine::Comparison.rows(cell.value, [[reference, Operations.fetch("benchmark"), :baseline, nil],
                                                 [@tree.contestant(cell), cell.operation, :contestant, nil]])
          end
        end
      end
    end
  end
end
