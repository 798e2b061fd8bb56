# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Gate
        # Times both sides, interleaved. Cells that seem slower are timed again in fresh processes: only a repeated
        # result proves a regression.
        class Timing < Step
          # A gate needs fewer blocks than a table, because it only asks whether a cell is slower.
          PROTOCOL = Engine::Protocol::FULL.with(blocks: 12, slice_ns: 10_000_000)

          # @return [Array<Engine::Measurement>]
          def measurements = @measurements ||= []

          # @return [Array<Hash{String => Object}>] one row for each cell
          def rows
            return [] if @cells.empty?
            first = pass(@cells)
            slower = @cells.select { |cell| Judgement.slower?(ratio(first[cell]), margin(cell)) }
            again = @settings.quick || slower.empty? || @run.interrupted? ? {} : pass(slower, null: false)
            @cells.map { |cell| row(cell, first[cell], again[cell]) }
          end

          private

          # @return [Hash{GatedCell => Hash}] head's records
          def pass(cells, null: true)
            comparisons = cells.to_h { |cell| [cell, comparison(cell, null:)] }
            measurement = @run.measure(comparisons.values, protocol:, decided: method(:decided?))
            measurements << measurement
            comparisons.transform_values do |comparison|
              measurement.cells.find { |cell| cell.comparison.equal?(comparison) && cell.arm.role == :contestant }
            end
          end

          def protocol
            base = @settings.quick ? Engine::Protocol::QUICK : PROTOCOL
            base.with(budget_seconds: [@configuration.budget_seconds, base.budget_seconds].compact.min)
          end

          # A cell is decided once it is known to be slower, or known not to be.
          def decided?(cell)
            found = ratio(cell) or return false
            margin = margin_of(cell.arm.contestant)
            Judgement.slower?(found, margin) || Judgement.within?(found, margin)
          end

          # @param null [Boolean] whether the base has a second arm, for the noise floor
          def comparison(cell, null:)
            base, head = @trees.map { |tree| tree.contestant(cell) }
            arms = [[base, cell.operation, :baseline, nil], [head, cell.operation, :contestant, nil]]
            arms << [@trees.first.contestant(cell, again: true), cell.operation, :null, 0] if null
            Engine::Comparison.rows(cell.value, arms)
          end

          def ratio(cell)
            summary = cell&.summary
            summary&.ratio&.record&.merge("mean" => summary.mean_ratio.record)
          end

          def margin(cell) = margin_of(Contestants.parse(cell.text))

          # A medium's own margin is the least: disks and remote servers vary more than memory.
          def margin_of(contestant)
            own = @configuration.margins[Configuration::TIME] or return
            [own, Engine::Protocol::MARGINS.fetch(contestant.medium)].max
          end

          def row(cell, first, again)
            row = Judgement.time([ratio(first), ratio(again)], margin: margin(cell), gates: !@settings.quick)
            row.merge("cell" => cell.label, "id" => first&.id, "floor" => first&.summary&.floor,
                      "reason" => (first.reason if first && !first.measured?))
          end
        end
      end
    end
  end
end
