# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/canned"

class FastestTest < LabCase
  SUBJECT = Lab::Tables::Musts::Fastest

  # Two stores, each with a constant time in microseconds.
  def results(memory_us, tiercel_us, arguments: ["--quick"])
    comparison = compare("memory_store", "tiercel=steps:1")
    cells = Canned.cells(comparison, { "memory_store" => memory_us * 1_000, "tiercel" => tiercel_us * 1_000 })
    Canned.results(command: "compare", cells:, arguments:)
  end

  def test_the_fastest_in_every_cell
    state, words = SUBJECT.new("tiercel").judge(results(10, 2))
    assert_equal [:holds, "tiercel is the fastest in 1 of 1 cells"], [state, words]
  end

  def test_another_store_is_faster
    state, words = SUBJECT.new("tiercel").judge(results(2, 10))
    assert_equal :fails, state
    assert_match(/in 0 of 1 cells; \S+ \S+: memory_store\z/, words)
  end

  def test_two_that_cannot_be_told_apart
    state, words = SUBJECT.new("tiercel").judge(results(10, 10))
    assert_equal :undecided, state
    assert_match(/memory_store or tiercel\z/, words)
  end

  def test_exceptions_and_other_runs
    cell = results(2, 10)["cells"].first.values_at("value", "operation")
    assert_equal :holds, SUBJECT.new("tiercel", except: [cell]).judge(results(2, 10)).first
    assert_equal :undecided, SUBJECT.new("tiercel").judge(results(10, 2, arguments: ["--quick", "--op", "read"])).first
  end
end
