# frozen_string_literal: true

require_relative "../../support/lab_case"
require_relative "../../support/canned"

class CompareSidesTest < LabCase
  def test_two_stores_are_counted_and_timed
    json = File.join(dir, "run.json")
    common = ["--quick", "--budget", "1", "--require", PLANTED, "--op", "read", "--value", "string-100b", "--results",
              dir]
    code, out, err = lab("compare", "steps:100", "steps:30000", *common, "--json", json)
    assert_equal 0, code, err
    assert out.start_with?("steps:30000 against steps:100: slower once in 1 of 1 cells; " \
                           "largest estimate: read string-100b takes"), out
    assert_match(/^read string-100b +objects allocated by one call: 0 +same$/, out)
    assert_empty SCHEMA.errors(Lab::Engine::Results.load(json))
    code, out, = lab("report", json)
    assert_equal 0, code
    assert_includes out, "bin/lab compare steps:100 steps:30000 --quick"
  end

  # The exit code of a run comes from its results alone, also where no cell is decided.
  def test_an_undecided_cell_fails_a_gate_that_asks_for_it
    reason = Lab::Sides::Timing::NO_TIME
    { "compare" => [nil, 0], "gate" => [nil, 3], "gate " => ["fail", 1] }.each do |command, (cannot_tell, code)|
      sides = [%w[base a], %w[head b]].map { |name, text| { name:, text:, title: "a store" } }
      tables = { "sides" => [sides, { cannot_tell: }],
                 "gate" => [[{ cell: "c", metric: "time", verdict: "cannot tell", reason: }], {}] }
      results = Canned.results(command: command.strip, tables:)
      assert_equal code, Lab::CLI.exit_code(results), command
      assert_match(/^c +time: cannot tell: no time was left of the budget +cannot tell$/,
                   Lab::Report::Terminal.render(Lab::CLI.document(results, program: "lab")))
    end
  end

  # Each of its calls costs the same. Its collections cost more, which no timed call shows.
  def test_kept_objects_are_found
    code, out, err = lab("compare", "steps:100#garbage=4", "steps:100#garbage=4,kept=100000", "--quick", "--budget",
                         "0.001", "--op", "read", "--value", "string-100b", "--results", dir)
    assert_equal 1, code, err
    assert_match(/; more kept objects in 1\.$/, out)
    assert_match(/^read string-100b +objects that the process keeps: [\d,]+ \u2192 1\d\d,000 +regressed$/, out)
  end

  def test_the_command_line_says_which_job_is_meant
    assert_refused(%w[compare memory_store] => /expected two sides/,
                   %w[compare memory_store memory_store] => /same store/,
                   %w[compare dalli@1.0 tiercel] => /cannot be compared/, %w[compare a b c] => /expected two sides/,
                   %w[compare HEAD HEAD --repository /nowhere] => %r{nor a revision in /nowhere})
    assert_match(/--baseline STORE/, lab("compare", "--help")[1])
    assert_match(/\A\d+ cells: /, lab("compare", "--plan", "--quick")[1])
    plan = lab("compare", "memory_store", "null_store", "--plan", "--quick")[1]
    assert_match(/\A2 comparisons of memory_store and null_store: read.*^In all about \d+ s\.$/m, plan)
  end
end
