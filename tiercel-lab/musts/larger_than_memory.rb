# frozen_string_literal: true

require "tiercel/lab/engine"
require "tiercel/lab/statistics"
require_relative "working_set"

module Tiercel
  module Lab
    module Tables
      module Musts
        # A cache that is larger than memory: a segment in front of a database against that database alone, at a working
        # set of eight times the segment, both databases full.
        class LargerThanMemory
          READS = 1_000
          # So many that what is asked for is where it stays.
          WARM_UP_SLICES = 150
          # Timed, of each store, in turn. They take a second or two; filling and warming up take half a minute.
          SLICES = 144
          # Figures of the interval, each of six slices: a single slice has a checkpoint of SQLite in it, or none. Six
          # figures alone would be decided by the best and the worst of them.
          GROUPS = 24
          # At once after the segment was lost: where hits alone are asked for.
          SLICES_AFTER = 36
          MOST = 0.5
          # Points of hit ratio: the reads are the same, what a full database evicts is not. Where one in twenty of
          # 36,000 reads ends otherwise, two and a half standard deviations.
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
          # @param after [Hash] the same, once the segment was lost
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

          # Of means: each group's are of all its reads.
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
