# frozen_string_literal: true

require_relative "bundle"
require_relative "job"

module Tiercel
  module Lab
    module Engine
      # The worker processes of one round: one for each bundle among the arms.
      class WorkerPool
        # @param bundles [Array<String, Bundle, nil>]
        # @param pinning [Pinning]
        # @param requires [Array<String>]
        # @param progress [#say]
        def initialize(bundles:, pinning:, requires:, progress:)
          @failures = {}
          @lost = []
          @pinning = pinning
          @requires = requires
          @progress = progress
          @workers = bundles.to_h { |name| [name, start(name)] }.compact
        end

        # Yields each worker that runs some of the arms.
        #
        # @param arms [Array<ArmSpec>] in the order wanted
        # @yieldparam worker [WorkerProcess]
        # @yieldparam arms [Array<ArmSpec>] its share, in that order
        # @return [Array<Object>] the block's values
        def each(arms)
          arms.group_by { |arm| arm.contestant.bundle }.filter_map do |bundle, share|
            worker = @workers[bundle] and yield(worker, share)
          end
        end

        # Stops a worker that no longer answers. It takes no further part in the comparison.
        #
        # @param worker [WorkerProcess]
        # @param error [WorkerLost]
        # @return [void]
        def lose(worker, error)
          bundle = @workers.key(worker)
          @workers.delete(bundle)
          @failures[bundle] = error.message
          worker.stop
          @lost << bundle
        end

        # Starts fresh workers in place of lost ones, for the next comparison.
        #
        # @return [void]
        def restart_lost
          @lost.each do |bundle|
            @failures.delete(bundle)
            worker = start(bundle) and @workers[bundle] = worker
          end
          @lost.clear
        end

        # @param arm [ArmSpec]
        # @return [String, nil] the reason why the arm has no worker
        def failure(arm) = @failures[arm.contestant.bundle]

        # @return [void]
        def stop = @workers.each_value(&:stop)

        private

        def start(name)
          bundle = name.is_a?(Bundle) ? name : Bundle.new(name)
          bundle.install(progress: @progress)
          Job.new("engine/worker", bundle:, pinning: @pinning, requires: @requires,
                  answer_seconds: Protocol::ANSWER_SECONDS)
             .start
        rescue CannotRun => e
          @failures[name] = e.message
          nil
        end
      end
    end
  end
end
