# frozen_string_literal: true

require_relative "../../engine"
require_relative "judgement"

module Tiercel
  module Lab
    module Tables
      module Gate
        # Timings of both sides, interleaved, and those that seem slower once more in fresh processes: a tight interval
        # is no proof, recurrence is.
        class Timing
          # Less than of a table: what gates is asked one question only.
          PROTOCOL = Engine::Protocol::FULL.with(blocks: 12, slice_ns: 10_000_000)

          # @return [Array<Engine::Measurement>]
          attr_reader :measurements

          # @param cells [Array<GatedCell>]
          # @param trees [Array(Tree, Tree)]
          # @param quick [Boolean] one short pass, which gates nothing
          def initialize(cells, trees, run:, configuration:, quick: false)
            @cells = cells
            @trees = trees
            @run = run
            @configuration = configuration
            @quick = quick
            @measurements = []
          end

          # @return [Array<Hash{String => Object}>] one row for each cell
          def rows
            return [] if @cells.empty?
            first = pass(@cells)
            slower = @cells.select { |cell| Judgement.slower?(ratio(first[cell]), margin(cell)) }
            again = @quick || slower.empty? || @run.interrupted? ? {} : pass(slower, null: false)
            @cells.map { |cell| row(cell, first[cell], again[cell]) }
          end

          private

          # @return [Hash{GatedCell => Hash}] head's records
          def pass(cells, null: true)
            comparisons = cells.to_h { |cell| [cell, comparison(cell, null:)] }
            measurement = @run.measure(comparisons.values, protocol:, decided: method(:decided?))
            @measurements << measurement
            comparisons.transform_values do |comparison|
              measurement.cells.find { |cell| cell.comparison.equal?(comparison) && cell.arm.role == :contestant }
            end
          end

          def protocol
            base = @quick ? Engine::Protocol::QUICK : PROTOCOL
            base.with(budget_seconds: [@configuration.budget_seconds, base.budget_seconds].compact.min)
          end

          # Only whether it is slower is asked: that it is not, is an answer too.
          def decided?(cell)
            found = ratio(cell) or return false
            margin = margin_of(cell.arm.contestant)
            Judgement.slower?(found, margin) || Judgement.within?(found, margin)
          end

          # @param null [Boolean] whether the base is an arm twice, in workers of its own: for the noise floor
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

          # Disks and far servers repeat themselves less well than what a user may ask for.
          def margin_of(contestant)
            own = @configuration.margins[Configuration::TIME] or return
            [own, Engine::Protocol::MARGINS.fetch(contestant.medium)].max
          end

          def row(cell, first, again)
            row = Judgement.time([ratio(first), ratio(again)], margin: margin(cell), gates: !@quick)
            row.merge("cell" => cell.label, "id" => first&.id, "floor" => first&.summary&.floor,
                      "reason" => (first.reason if first && !first.measured?))
          end
        end
      end
    end
  end
end
