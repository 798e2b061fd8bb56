# frozen_string_literal: true

module TestRunner
  # Runs what failed once more, alone, when every suite has ended: a test that another program upset passes then. It is
  # named as unsteady, and stays a defect of its own. More failures than the limit are not forgiven.
  class SecondRun
    # @param limit [Integer] at most so many failures of all suites are run again
    # @param out [IO]
    # @yieldparam suite [Suite]
    # @yieldparam files [Array<String>]
    # @yieldparam name [String] the tests, as --name takes them: /REGEXP/
    # @yieldreturn [Outcome]
    def initialize(limit, out, &run)
      @limit = limit
      @out = out
      @run = run
    end

    # @param chosen [Hash{Suite => Array<String>}] suites and their files
    # @param outcomes [Array<Outcome>] of the suites, in the same order
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
