# frozen_string_literal: true

module Tiercel
  module Lab
    module Results
      # A cell as the results hold it: plain Hashes, every slice kept.
      module CellRecord
        module_function

        # @param cell [Cell]
        # @return [Hash{String => Object}] see the JSON Schema
        def of(cell)
          arm = cell.arm
          { "id" => cell.id, "comparison" => cell.comparison.id, "value" => cell.comparison.value.name,
            "operation" => arm.operation.name, "contestant" => arm.contestant.describe, "role" => arm.role.to_s,
            "twin_of" => twin_id(cell), "clock" => arm.contestant.clock.to_s, "status" => cell.status,
            "reason" => cell.reason, "calls" => cell.calls, "warm_up" => cell.warm_up,
            "exact" => { "allocations" => cell.allocations, "stored_bytes" => cell.stored_bytes },
            "slices" => cell.slices.map { |slice| slice.to_h.values.compact }, "summary" => summary(cell.summary) }
        end

        def twin_id(cell)
          twin = cell.comparison.arms.find { |arm| arm.id == cell.arm.twin_of }
          twin && cell.comparison.cell_id(twin)
        end
        private_class_method :twin_id

        def summary(summary)
          return nil unless summary
          { "ns" => interval(summary.ns), "mad_ns" => summary.mad_ns, "gc_ns" => summary.gc_ns,
            "ratio" => interval(summary.ratio), "floor" => summary.floor, "threshold" => summary.margin,
            "verdict" => summary.verdict&.to_s, "p_value" => summary.p_value, "needs" => summary.needs,
            "flags" => summary.flags }
        end
        private_class_method :summary

        def interval(interval)
          interval && { "estimate" => interval.estimate, "low" => interval.low, "high" => interval.high }
        end
        private_class_method :interval
      end
    end
  end
end
