# frozen_string_literal: true

require_relative "cell"
require_relative "worker_pool"
require_relative "outcome"
require_relative "slots"

module Tiercel
  module Lab
    module Engine
      # One set of fresh workers that goes through all comparisons of one value.
      class Round
        # @param process [Integer] number of the round
        # @param cells [Array<Cell>] cells of the whole run
        # @param pace [Pace] the time budget
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
          @workers = WorkerPool.new(bundles: arms.map { |arm| bundle(arm) }.uniq, pinning:, requires:, progress:)
        end

        # @return [void]
        def run
          # Begins with another comparison in each process, so that the youngest process does not always measure the
          # same one.
          @comparisons.rotate(@process).each do |comparison|
            share = comparison.expected_seconds(@protocol, arms: open_arms(comparison), processes: 1)
            @pace.begin(share) if @process < @protocol.processes
            measure(comparison)
            @progress&.advance(share, comparison.id)
          end
        ensure
          @workers.stop
        end

        private

        # The arms without a verdict.
        def open_arms(comparison) = @cells.fetch(comparison).reject(&:decided?).map(&:arm)

        def measure(comparison)
          @workers.restart_lost
          cells = @cells.fetch(comparison).to_h { |cell| [cell.arm.id, cell] }
          arms = open(comparison, running(comparison, cells), cells)
          run_blocks(arms, cells) if arms.any?
          ask(arms, cells, "close") { {} }.flatten.each { |outcome| cells[outcome["id"]].note(outcome) }
        end

        def run_blocks(arms, cells)
          @protocol.blocks.times do |block|
            break if block >= @protocol.least_blocks && @pace.behind?
            run_block(block, arms, cells)
          end
        end

        # The arms that can run, in the order of this process.
        def running(comparison, cells)
          ids = Slots.order(comparison.arms.map(&:id), process: @process, seed: @seed)
          open_arms(comparison).sort_by { |arm| ids.index(arm.id) }.select do |arm|
            cell = cells[arm.id]
            why = arm.operation.unsuitable(comparison.value) and cell.note(Outcome.failure("unsuitable", why))
            failure = @workers.failure(arm) and cell.note(Outcome.failure(Outcome::CANNOT_RUN, failure))
            cell.sound?
          end
        end

        def open(comparison, arms, cells)
          facts = { value: comparison.value.to_spec, seed: @seed, slice_ns: @protocol.slice_ns,
                    label: format("%d-%02d", Process.pid, @process), servers: @pool.facts(comparison.servers),
                    folders: @scratch.folders }
          answers = ask(arms, cells, "open") do |share|
            facts.merge(arms: share.map { |arm| arm_request(arm, cells[arm.id]) })
          end
          answers.each do |answer|
            @digests[comparison.value.name] ||= answer["digest"]
            answer["arms"].each { |outcome| cells[outcome["id"]].note(outcome) }
          end
          arms.select { |arm| cells[arm.id].sound? }
        end

        def arm_request(arm, cell)
          { id: arm.id, text: arm.contestant.text, operation: arm.operation.name, calls: cell.calls,
            warm_up: cell.warm_up, exact: cell.allocations.nil?,
            garbage_bytes: @protocol.garbage_bytes(arm.contestant.medium), head_start: @protocol.head_start(@process) }
        end

        # Arms that follow each other in the same worker share one call.
        def run_block(block, arms, cells)
          position = 0
          Slots.block(arms, block).chunk_while { |one, other| bundle(one) == bundle(other) }.each do |pass|
            slices = ask(pass, cells, "pass") { |share| { arms: share.map { |arm| [arm.id, cells[arm.id].calls] } } }
            slices.flatten(1).each do |id, *figures|
              cells[id].slices << Cell::Slice.new(@process, block, position, *figures)
              position += 1
            end
          end
        end

        def bundle(arm) = arm.contestant.bundle

        # Calls every worker that has some of the arms. If a worker is lost, its arms fail.
        def ask(arms, cells, method)
          @workers.each(arms.select { |arm| @workers.failure(arm).nil? }) do |worker, share|
            worker.call(method, **yield(share))
          rescue WorkerLost => e
            @workers.lose(worker, e)
            share.each { |arm| cells[arm.id].note(Outcome.failure(Outcome::CANNOT_RUN, e.message)) }
            nil
          end
        end
      end
    end
  end
end
