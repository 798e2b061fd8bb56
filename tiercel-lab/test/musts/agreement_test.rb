# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/canned"
require_relative "../../musts/agreement"

class AgreementTest < LabCase
  Agreement = Lab::Tables::Agreement

  # @param ratios [Hash{String => Array(Float, String)}] ratio and verdict, by table and store
  # @param states [Hash{String => String}] states of tables that are not complete
  def run_of(ratios, states: {})
    parts = ratios.group_by { |(table, _), _| table }.map do |table, cells|
      made = cells.map { |(_, store), (ratio, verdict)| cell(store, "contestant", ratio, verdict) }
      results = { "cells" => [cell("memory_store", "baseline"), cell("memory_store (again)", "null", 2.0, "slower"),
                              *made] }
      { "name" => table, "state" => states.fetch(table, "complete"), "seconds" => 10.0, "results" => results }
    end
    { "parts" => parts }
  end

  def cell(store, role, ratio = nil, verdict = nil)
    { "id" => "html-2kb/read/#{store}", "comparison" => "html-2kb/read", "role" => role,
      "summary" => { "ratio" => ratio && { "estimate" => ratio }, "verdict" => verdict } }
  end

  FULL = { ["compare", "a"] => [1.3, "slower"], ["compare", "b"] => [0.7, "faster"],
           ["compare", "c"] => [1.2, "slower"], ["sizes", "a"] => [30.0, "slower"],
           ["sizes", "full only"] => [2.0, "slower"] }.freeze

  def test_cells_beyond_a_quarter_count
    quick = { ["compare", "a"] => [1.1, "cannot_tell"], ["compare", "b"] => [0.8, "faster"],
              ["compare", "c"] => [1.0, "cannot_tell"], ["sizes", "a"] => [0.5, "faster"],
              ["sizes", "quick only"] => [1.0, "cannot_tell"] }
    found = Agreement.new(run_of(FULL), run_of(quick))
    assert_equal 3, found.clear.size
    assert_equal [["compare", "1.3"]], found.undecided.map { |pair| [pair.table, pair.ratio.to_s] }
    assert_equal ["sizes"], found.wrong.map(&:table)
    assert_empty found.missing
    refute_predicate found, :holds?
    text = found.lines.join("\n")
    assert_match(/\A4 of 5 cells .*\n3 of them/, text)
    assert_match(/Undecided in the quick run: 1 \(33\.3 %\); at most 10 %/, text)
    assert_match(%r{^wrong: sizes: html-2kb/read/a, html-2kb/read/memory_store: 30\.0x .* faster in the quick}, text)
  end

  def test_what_holds
    quick = FULL.except(["sizes", "full only"])
    assert_predicate Agreement.new(run_of(FULL), run_of(quick)), :holds?
    uneven = quick.merge(["compare", "a"] => [1.3, "uneven"])
    assert_predicate Agreement.new(run_of(FULL), run_of(uneven)), :holds?
    late = Agreement.new(run_of(FULL), run_of(quick, states: { "sizes" => "out of time" }))
    assert_equal [[], ["sizes"], true], [late.missing, late.shortened, late.holds?]
    none = Agreement.new(run_of(FULL), run_of(quick.reject { |(table, _), _| table == "sizes" }))
    assert_equal ["sizes"], none.missing
    slow = run_of(quick).tap { |run| run["parts"].each { |part| part["seconds"] = 600.0 } }
    refute_predicate Agreement.new(run_of(FULL), slow), :holds?
  end

  def test_recorded_runs
    recorded = Lab::Engine::Results.load(File.expand_path("../golden/recordings/all.json", __dir__))
    found = Agreement.new(recorded, recorded)
    assert_equal found.lines.first[/\d+ of (\d+)/, 1], found.lines.first[/\A\d+/]
    assert_empty found.missing
    assert_empty found.wrong
  end
end
