# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/canned"
require_relative "../../musts/choice"

# `choice` compares what a quick run foretells with a run of all stores.
class ForetoldTest < LabCase
  Choice = Lab::Tables::Choice

  def results(**nanoseconds)
    cells = Canned.cells(compare(*nanoseconds.keys.map(&:to_s)), nanoseconds.transform_keys(&:to_s))
    Canned.results(command: "compare", cells:)
  end

  def right(state, names, survives: "reboot")
    constraints = Lab::Answer::Constraints.new(survives:, given: ["survives"])
    change = Lab::Answer::Choice::Change.new(constraints, state, names)
    Choice.foretold(change, results(memory_store: 1_000, "tiercel:shared:": 900, "tiercel:sqlite:": 5_000,
                                    "file_store:disk": 9_000))["right"]
  end

  def test_a_claim_is_compared_with_the_cheapest_store_under_that_constraint
    assert_equal [true, false, false],
                 %w[tiercel:sqlite: file_store:disk tiercel:shared:].map { |name| right(:clear, [name]) }
    assert_equal [true, false],
                 [%w[file_store:disk tiercel:sqlite:], %w[file_store:disk]].map { |names| right(:tied, names) }
    refute right(:nothing, [])
    assert_nil right(:unmeasured, %w[litecache]), "it says what to run"
  end

  def test_a_wrong_claim_fails_the_check
    row = { "case" => "a", "first" => "x", "clear" => true, "best" => "x", "times" => 1.0,
            "changes" => [] }
    view = lambda do |changes|
      tables = { "choice" => [[*[row] * 9, row.merge("changes" => changes)], { asked: 10 }] }
      results = JSON.parse(JSON.generate(Canned.results(command: "choice", tables:)))
      Choice::View.new(results, command: "bin/lab choice")
    end
    claim = { "constraints" => "--machines 2", "state" => "clear", "names" => ["x"] }
    unmeasured = claim.merge("state" => "unmeasured", "right" => nil)
    assert_equal :holds, view.call([claim.merge("right" => true), unmeasured]).state
    wrong = view.call([claim.merge("right" => false)])
    assert_equal :fails, wrong.state
    assert_match(/0 of 1 claims are right/, wrong.sentence)
    assert_match(/--machines 2/, Lab::Report::Markdown.render(wrong.build))
  end
end
