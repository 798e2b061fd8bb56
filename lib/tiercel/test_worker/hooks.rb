# frozen_string_literal: true

require_relative "../forks"
require_relative "../test_worker"

module Tiercel
  module TestWorker
    # Hooks into Rails and parallel_tests to detect that this process is one of several test processes.
    #
    # @private
    module Hooks
      class << self
        # @return [void]
        def watch
          from_environment(ENV.fetch("TEST_ENV_NUMBER", nil))
          ActiveSupport.on_load(:active_support_test_case) { Hooks.watch_parallelize }
        end

        # Hooks into Rails' `parallelize` with processes. Rails calls the second hook in the parent too, without a
        # number.
        #
        # @return [void]
        def watch_parallelize
          require "active_support/testing/parallelization"
          ActiveSupport::Testing::Parallelization.after_fork_hook { |number| TestWorker.enter(number) }
          ActiveSupport::Testing::Parallelization.run_cleanup_hook { |number| TestWorker.leave if number }
        end

        private

        # parallel_tests leaves the variable empty for its first process. That process shares servers with the others
        # too.
        def from_environment(number)
          return unless number && TestWorker.number.nil?
          TestWorker.enter(number.empty? ? "1" : number, empty: false)
          remove_files_at_the_end
        end

        # Minitest runs its tests at exit, after blocks that were registered later than its own.
        def remove_files_at_the_end
          process = Forks.current
          remove = -> { TestWorker.remove_files if Forks.current?(process) }
          at_exit(&remove)
          Minitest.after_run(&remove) if defined?(Minitest) && Minitest.respond_to?(:after_run)
        end
      end
    end
  end
end
