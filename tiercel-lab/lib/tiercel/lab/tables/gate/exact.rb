# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Gate
        # The exact figures of all cells. Cells whose figures grew are counted again in fresh processes.
        class Exact < Step
          # @return [Array<Hash{String => Object}>] a row for each metric, or one row with the reason
          def rows
            @rows ||= begin
              count(@cells)
              suspects = @cells.select { |cell| regressed?(judged(cell)) }
              count(suspects) if suspects.any? && !@run.interrupted?
              @run.table("counted", counted)
              @cells.flat_map { |cell| judged(cell) }
            end
          end

          # @return [Array<GatedCell>] the cells with figures of both sides
          def sound
            broken = rows.filter_map { |row| row["cell"] if row["metric"] == "values" }
            @cells.reject { |cell| broken.include?(cell.label) }
          end

          # Time to open one cell on one side, from the counting itself.
          #
          # @return [Float]
          def open_seconds = @counted_cells.to_i.zero? ? Counting::CELL_SECONDS : @seconds / @counted_cells

          private

          def count(cells)
            started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
            count_cells(cells)
          ensure
            @seconds = @seconds.to_f + (Process.clock_gettime(Process::CLOCK_MONOTONIC) - started)
            @counted_cells = @counted_cells.to_i + (cells.size * @trees.size * Counting::PROCESSES)
          end

          def count_cells(cells)
            first = counted.map { |row| row["process"] + 1 }.max.to_i
            counting = Counting.new(@trees, cells:, first:, **inputs)
            @run.try(counting, counting.expected_seconds)
            counted.concat(counting.rows)
          end

          def regressed?(rows) = rows.any? { |row| row["verdict"] == Judgement::REGRESSED }

          def judged(cell)
            sides = @trees.map { |tree| counted_of(cell, tree) }
            return [] if sides.any?(&:empty?) # interrupted
            status = Judgement.status(*sides.map { |rows| worst(rows) })
            return [status.merge("cell" => cell.label)] if status
            Configuration::EXACT.keys.filter_map do |metric|
              base, head = sides.map { |rows| rows.filter_map { |row| row[metric] } }
              next if base.empty? || head.empty?
              Judgement.exact(metric, base, head, margin: @configuration.margins[metric]).merge("cell" => cell.label)
            end
          end

          def counted = @counted ||= []

          def counted_of(cell, tree)
            counted.select { |row| row.values_at("cell", "side") == [cell.label, tree.name] }
          end

          def worst(rows) = rows.find { |row| !Engine::Outcome.measured?(row) } || rows.first
        end
      end
    end
  end
end
