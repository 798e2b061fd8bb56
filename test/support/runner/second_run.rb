# frozen_string_literal: true

module TestRunner
  # Runs failed tests once more, alone, after all suites have ended. A test that only failed because of other programs
  # passes then; it is reported as unsteady and counts as a defect. Above the limit, failures are not run again.
  class SecondRun
    # @param limit [Integer] maximum number of failures, over all suites, that are run again
    # @param out [IO]
    # @yieldparam suite [Suite]
    # @yieldparam files [Array<String>]
    # @yieldparam name [String] the tests, in the form of --name: /REGEXP/
    # @yieldreturn [Outcome]
    def initialize(limit, out, &run)
      @limit = limit
      @out = out
      @run = run
    end

    # @param chosen [Hash{Suite => Array<String>}] suites and their files
    # @param outcomes [Array<Outcome>] outcomes of the suites, in the same order
    # @return [void]
    def call(chosen, outcomes)
      return unless outcomes.sum { |outcome| outcome.failures.size }.between?(1, @limit)
      chosen.zip(outcomes).each do |(suite, files), outcome|
        run_again(suite, files, outcome) if outcome.failures.any?
      end
    end

    private

    def run_again(suite, files, outcome)
      failed = outcome.failures.dup
      @out.puts "", "#{suite.name}, once more alone: #{failed.join(", ")}"
      again = @run.call(suite, files, "/\\A(?:#{Regexp.union(failed).source})\\z/")
      return unless again.failures.empty? && again.passed == failed.size
      @out.puts "  unsteady: failed beside the others, passed alone: #{failed.join(", ")}"
      outcome.forgive
    end
  end
end
