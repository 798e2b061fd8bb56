# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Gate
        # Records one revision for a history: counts every cell of a tree, and times it together with the reference
        # work.
        class Recording < Step
          REFERENCE = "reference=reference_work"

          # @return [Engine::Measurement]
          def take
            counting = Counting.new(@trees, cells: @cells, **inputs)
            @run.try(counting, counting.expected_seconds)
            @run.table("counted", counting.rows)
            @run.measure(@cells.map { |cell| comparison(cell) }, protocol:)
          end

          private

          # Every night has the same number of processes.
          def protocol
            Timing::PROTOCOL.with(most_processes: nil, budget_seconds: @configuration.budget_seconds)
          end

          def comparison(cell)
            reference = Contestants.parse(REFERENCE).extend(Compare::Side::Placed)
                                   .run_with("reference work", @trees.last.bundle)
            Engine::Comparison.rows(cell.value, [[reference, Operations.fetch("benchmark"), :baseline, nil],
                                                 [@trees.last.contestant(cell), cell.operation, :contestant, nil]])
          end
        end
      end
    end
  end
end
