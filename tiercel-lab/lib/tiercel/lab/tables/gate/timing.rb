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

          # The part of the time left that the first pass may take; the rest is for the pass that confirms.
          FIRST = 0.6
          # A pass with fewer processes decides nothing.
          LEAST_PROCESSES = 4
          NO_TIME = "there was no time within the gate's budget"

          # @param until_at [Float] monotonic seconds at which the gate's budget ends
          # @param open_seconds [Float] time to open an arm, as the counting of exact figures took here
          def within(until_at, open_seconds)
            @until_at = until_at
            @open_seconds = open_seconds
            self
          end

          # How many cells a pass can measure.
          #
          # @param seconds [Float] time left
          # @param arms [Integer] arms of a cell
          # @return [Integer]
          def self.room(seconds, arms, open_seconds)
            of_arm = open_seconds + (PROTOCOL.slices * PROTOCOL.slice_ns / 1e9)
            (seconds / (arms * of_arm * LEAST_PROCESSES)).floor.clamp(0..)
          end

          # @return [Array<Engine::Measurement>]
          def measurements = @measurements ||= []

          # @return [Array<Hash{String => Object}>] one row for each cell
          def rows
            return [] if @cells.empty?
            timed = fitting(@cells, left * FIRST, 3)
            first = timed.empty? ? {} : pass(timed, budget: left * FIRST)
            slower = timed.select { |cell| Judgement.slower?(ratio(first[cell]), margin(cell)) }
            slower = fitting(slower, left, 2)
            again = @settings.quick || slower.empty? || @run.interrupted? ? {} : pass(slower, null: false, budget: left)
            @cells.map { |cell| row(cell, first[cell], again[cell]) }
          end

          private

          def left = [@until_at - Process.clock_gettime(Process::CLOCK_MONOTONIC), 0.0].max

          def fitting(cells, seconds, arms) = cells.first(Timing.room(seconds, arms, @open_seconds))

          # @return [Hash{GatedCell => Hash}] head's records
          def pass(cells, budget:, null: true)
            protocol = protocol(cells.size * (null ? 3 : 2), budget)
            comparisons = cells.to_h { |cell| [cell, comparison(cell, null:)] }
            measurement = @run.measure(comparisons.values, protocol:, decided: method(:decided?))
            measurements << measurement
            comparisons.transform_values do |comparison|
              measurement.cells.find { |cell| cell.comparison.equal?(comparison) && cell.arm.role == :contestant }
            end
          end

          # As many processes as the budget has room for.
          def protocol(arms, budget)
            base = @settings.quick ? Engine::Protocol::QUICK : PROTOCOL
            of_process = arms * (@open_seconds + (base.least_blocks * 2 * base.slice_ns / 1e9))
            processes = (budget / of_process).floor.clamp(LEAST_PROCESSES, base.processes) / 2 * 2
            base.with(processes:, most_processes: (base.most_processes if processes == base.processes),
                      budget_seconds: [budget, base.budget_seconds].compact.min)
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
                      "reason" => first ? (first.reason unless first.measured?) : NO_TIME)
          end
        end
      end
    end
  end
end
