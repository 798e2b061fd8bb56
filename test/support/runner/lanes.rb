# frozen_string_literal: true

require "tempfile"

module TestRunner
  # In which order suites run: one after the other as they are declared, but that those which wait more than they
  # compute run in a second lane, beside those that may have company. What they print follows when they have ended.
  class Lanes
    # @param out [IO]
    # @yieldparam suite [Suite]
    # @yieldparam files [Array<String>]
    # @yieldparam out [IO] where the suite prints
    # @yieldreturn [Outcome]
    def initialize(out, &run)
      @out = out
      @run = run
    end

    # @param chosen [Hash{Suite => Array<String>}] suites and their files
    # @return [Array<Outcome>] in the order of the suites
    def run(chosen)
      waiting, others = chosen.partition { |suite, _| suite.waits? }.map(&:to_h)
      alone, company = others.partition { |suite, _| suite.alone? }.map(&:to_h)
      outcomes = company.empty? ? in_turn(waiting) : beside(waiting) { in_turn(company) }
      outcomes.merge!(in_turn(alone))
      chosen.keys.map { |suite| outcomes.fetch(suite) }
    end

    private

    def in_turn(suites, out = @out) = suites.to_h { |suite, files| [suite, @run.call(suite, files, out)] }

    # An error in the second lane, or an interrupt, ends both.
    def beside(waiting)
      return yield if waiting.empty?
      Tempfile.create("tiercel-lane") do |output|
        lane = Thread.new { in_turn(waiting, output) }
        lane.report_on_exception = false
        outcomes = yield.merge(lane.value)
        output.rewind
        IO.copy_stream(output, @out)
        outcomes
      ensure
        lane&.kill&.join
      end
    end
  end
end
