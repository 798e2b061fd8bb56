# frozen_string_literal: true

require "tiercel/lab/engine"
require "tiercel/lab/statistics"
require_relative "working_set"

module Tiercel
  module Lab
    module Tables
      module Musts
        # A cache larger than memory: compares a segment in front of a database with that database alone. The working
        # set is eight times the segment, and both databases are full.
        class LargerThanMemory
          READS = 1_000
          # Enough slices for the popular entries to settle in the segment.
          WARM_UP_SLICES = 150
          # Timed slices of each store, in turn. They take a second or two, after half a minute of filling and warm-up.
          SLICES = 144
          # The interval has 24 figures of six slices each. A single slice contains a checkpoint of SQLite or none; with
          # six figures the best and the worst would decide.
          GROUPS = 24
          # Slices right after the loss of the segment, for the hit ratio alone.
          SLICES_AFTER = 36
          MOST = 0.5
          # Tolerated difference of the hit ratios in percentage points. The reads are the same, but full databases
          # evict different entries. Two and a half standard deviations, if one in twenty of 36,000 reads differs.
          MARGIN = 0.3
          SEED = 1

          # @return [Array(Symbol, String)] state and figures
          def judge
            scratch = Engine::Scratch.new
            job = Engine::Job.new("tables/musts/working_set", pinning: Engine::Pinning.new(cpus: [])).start
            judged(*measured(job, scratch))
          ensure
            job&.stop
            scratch&.remove
          end

          # @param run [Hash] see {WorkingSet#run}
          # @param after [Hash] the results after the loss of the segment
          # @return [Array(Symbol, String)]
          def judged(run, after)
            ratio = ratio(run)
            tiers, alone, fresh = [run["tiers"], run["alone"], after["tiers"]].map { |found| hit_percent(found) }
            alone_after = hit_percent(after["alone"])
            kept = tiers >= alone - MARGIN && fresh >= alone_after - MARGIN
            hits = [tiers, alone, fresh, alone_after]
            words = format("mean read %.3f [%.3f-%.3f] of sqlite: alone; hits %.2f %% against %.2f %%, after the " \
                           "segment was lost %.2f %% against %.2f %%", *ratio.to_h.values, *hits)
            return [:fails, words] if !kept || ratio.low > MOST
            [ratio.high <= MOST ? :holds : :undecided, words]
          end

          private

          def measured(job, scratch)
            answered(job, "open", folders: scratch.folders, seed: SEED)
            answered(job, "run", reads: READS, slices: WARM_UP_SLICES)
            run = answered(job, "run", reads: READS, slices: SLICES)
            answered(job, "lose_segment")
            after = answered(job, "run", reads: READS, slices: SLICES_AFTER)
            job.call("close")
            [run, after]
          end

          def answered(job, method, **arguments)
            answer = job.call(method, **arguments)
            Engine::Outcome.measured?(answer) ? answer : raise(CannotRun, Engine::Outcome.words(answer))
          end

          # The ratio of means, each over all reads of a group.
          def ratio(run)
            means = %w[tiers alone].map do |name|
              run[name]["us"].each_slice(SLICES / GROUPS).map { |us| us.sum / us.size }
            end
            Statistics::MedianInterval.of(means.transpose.map { |tiers, alone| [tiers / alone] })
          end

          def hit_percent(found) = 100.0 * found["hits"] / (found["us"].size * READS)
        end
      end
    end
  end
end
