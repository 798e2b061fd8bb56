# frozen_string_literal: true

require_relative "../support/lab_case"

class RunTest < LabCase
  def expected(blocks:, budget:)
    protocol = Lab::Engine::Protocol::FULL.with(processes: 1, blocks:, budget_seconds: budget)
    Lab::Engine::Measurement.expected_seconds([compare("memory_store", "null_store")], protocol)
  end

  def test_a_plan_counts_on_the_blocks_that_its_budget_allows
    all, least = expected(blocks: 100, budget: nil), expected(blocks: Lab::Engine::Protocol::LEAST_BLOCKS, budget: nil)
    assert_operator least, :<, all
    between = (least + all) / 2
    assert_in_delta between, expected(blocks: 100, budget: between)
    assert_in_delta all, expected(blocks: 100, budget: all * 2), 1e-9, "a budget that is not needed"
    assert_in_delta least, expected(blocks: 100, budget: least / 2), 1e-9, "fewer blocks than the least are never made"
    assert_operator expected(blocks: 1, budget: 0.001), :<, least
  end
end
