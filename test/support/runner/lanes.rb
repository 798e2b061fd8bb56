# frozen_string_literal: true

require "tempfile"

module TestRunner
  # Two suites run concurrently, begun in their declared order. The output of a suite in the second lane appears after
  # that suite has ended, between two suites of the first lane.
  class Lanes
    # @param out [IO]
    # @yieldparam suite [Suite]
    # @yieldparam files [Array<String>]
    # @yieldparam out [IO] the suite's output
    # @yieldreturn [Outcome]
    def initialize(out, &run)
      @out = out
      @run = run
      @outcomes = {}
      @printed = Queue.new
    end

    # @param chosen [Hash{Suite => Array<String>}] suites and their files
    # @return [Array<Outcome>] in the order of the suites
    def run(chosen)
      @files = chosen
      two_at_a_time(chosen.keys)
      @outcomes.values_at(*chosen.keys)
    end

    private

    # An error or an interrupt in either lane ends both.
    def two_at_a_time(suites)
      waiting = Queue.new(suites)
      second = Thread.new(waiting.pop) { |suite| second_lane(suite, waiting) } if suites.size > 1
      second&.report_on_exception = false
      while (suite = next_of(waiting))
        run_suite(suite, @out)
        print_what_has_ended
      end
      second&.join
      print_what_has_ended
    ensure
      second&.kill&.join
    end

    def next_of(suites)
      suites.pop(true)
    rescue ThreadError
      nil
    end

    def second_lane(suite, others)
      while suite
        Tempfile.create("tiercel-lane") do |output|
          run_suite(suite, output)
          output.rewind
          @printed << output.read
        end
        suite = next_of(others)
      end
    end

    def print_what_has_ended
      @out.print(@printed.pop) until @printed.empty?
      @out.flush
    end

    def run_suite(suite, out) = @outcomes[suite] = @run.call(suite, @files.fetch(suite), out)
  end
end
