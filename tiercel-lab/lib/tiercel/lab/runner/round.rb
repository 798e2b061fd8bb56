# frozen_string_literal: true

require_relative "crew"
require_relative "slots"

module Tiercel
  module Lab
    module Runner
      # One set of fresh workers going through all comparisons on one value.
      class Round
        # @param process [Integer] number of the round
        # @param cells [Array<Cell>] of the whole run
        # @param pace [Pace] says when a comparison has had its time
        # @param options see {Measurement}
        def initialize(process:, comparisons:, cells:, protocol:, seed:, pool:, scratch:, requires:, progress:,
                       pinning:, digests:, pace:)
          @pace = pace
          @process = process
          @comparisons = comparisons
          @cells = cells.group_by(&:comparison)
          @protocol = protocol
          @seed = seed
          @pool = pool
          @scratch = scratch
          @progress = progress
          @digests = digests
          arms = comparisons.flat_map { |comparison| open_arms(comparison) }
          @crew = Crew.new(bundles: arms.map { |arm| arm.contestant.bundle }.uniq, pinning:, requires:, progress:)
        end

        # @return [void]
        def run
          # Another comparison comes first each time, so that none is always measured by the youngest process.
          @comparisons.rotate(@process).each do |comparison|
            share = comparison.expected_seconds(@protocol, arms: open_arms(comparison), processes: 1)
            @pace.begin(share) if @process < @protocol.processes
            measure(comparison)
            @progress&.advance(share, comparison.id)
          end
        ensure
          @crew.stop
        end

        private

        # Those that have not been decided yet.
        def open_arms(comparison) = @cells.fetch(comparison).reject(&:settled?).map(&:arm)

        def measure(comparison)
          @crew.revive
          cells = @cells.fetch(comparison).to_h { |cell| [cell.arm.id, cell] }
          arms = running(comparison, cells)
          arms = open(comparison, arms, cells)
          run_blocks(arms, cells) if arms.any?
          close(arms, cells)
        end

        def run_blocks(arms, cells)
          @protocol.blocks.times do |block|
            break if block >= Protocol::LEAST_BLOCKS && @pace.behind?
            run_block(block, arms, cells)
          end
        end

        # In the slot order of this process, without those that cannot run.
        def running(comparison, cells)
          ids = Slots.order(comparison.arms.map(&:id), process: @process, seed: @seed)
          open_arms(comparison).sort_by { |arm| ids.index(arm.id) }.select do |arm|
            cell = cells[arm.id]
            note_unsuitable(cell)
            failure = @crew.failure(arm) and cell.note("status" => "cannot run", "reason" => failure)
            cell.status == "measured"
          end
        end

        def note_unsuitable(cell)
          why = cell.arm.operation.unsuitable(cell.comparison.value) or return
          cell.note("status" => "unsuitable", "reason" => why)
        end

        def open(comparison, arms, cells)
          ask(arms, cells) do |share|
            { do: "open", value: comparison.value.to_spec, seed: @seed, slice_ns: @protocol.slice_ns,
              label: format("%d-%02d", Process.pid, @process), servers: @pool.facts(comparison.servers),
              folders: @scratch.folders, arms: share.map { |arm| arm_request(arm, cells[arm.id]) } }
          end.each do |answer|
            @digests[comparison.value.name] ||= answer["digest"]
            note_outcomes(answer, cells)
          end
          arms.select { |arm| cells[arm.id].status == "measured" }
        end

        def arm_request(arm, cell)
          { id: arm.id, text: arm.contestant.text, operation: arm.operation.name, calls: cell.calls,
            warm_up: cell.warm_up, exact: cell.allocations.nil? }
        end

        def run_block(block, arms, cells)
          order = Slots.block(arms, block)
          ask(arms, cells) { { do: "block" } }
          position = 0
          passes(order).each do |pass|
            ask(pass, cells) { |share| pass_request(share, cells) }.each do |answer|
              answer["slices"].each do |id, *figures|
                cells[id].slices << Cell::Slice.new(@process, block, position, *figures)
                position += 1
              end
            end
          end
        end

        # Arms that follow each other in one worker are one request.
        def passes(order)
          order.chunk_while { |one, next_one| one.contestant.bundle == next_one.contestant.bundle }.to_a
        end

        def pass_request(share, cells)
          { do: "pass", order: share.map(&:id), calls: share.to_h { |arm| [arm.id, cells[arm.id].calls] } }
        end

        def close(arms, cells)
          ask(arms, cells) { { do: "close" } }.each { |answer| note_outcomes(answer, cells) }
        end

        def note_outcomes(answer, cells)
          answer["arms"].each { |outcome| cells[outcome["id"]].note(outcome) }
        end

        # Asks every worker concerned; a worker that is lost takes its arms with it.
        def ask(arms, cells)
          @crew.each(arms.select { |arm| @crew.failure(arm).nil? }) do |worker, share|
            worker.ask(**yield(share))
          rescue WorkerLost => e
            @crew.lose(worker, e)
            share.each { |arm| cells[arm.id].note("status" => "cannot run", "reason" => e.message) }
            nil
          end
        end
      end
    end
  end
end
