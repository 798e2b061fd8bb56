# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/canned"

class TargetsTest < LabCase
  Target = Lab::Tables::Musts::Target
  FULL = Lab::Engine::Protocol::FULL

  def ratio(at_most) = Target::Ratio.new(id: "t", text: "t", value: "string-100b", baseline: %w[memory_store read],
                                         candidate: %w[null_store read], at_most:)

  def cells(baseline: 1_000, contestant: 500, spread: 10)
    comparison = compare("memory_store", "null_store")
    figures = { baseline:, contestant:, null: baseline }
    made = comparison.arms.map do |arm|
      factor = arm.role == :contestant ? spread : 0
      ns = ->(process, block) { figures.fetch(arm.role) + (factor * (((process * 8) + block) % 9)) }
      cell_of(comparison, arm, Array.new(6) { |process| Array.new(8) { |block| ns.call(process, block) } })
    end
    Lab::Engine::Summary.fill(made, protocol: FULL)
    made
  end

  def test_only_an_interval_on_one_side_decides
    assert_equal :holds, ratio(0.7).judge(cells, FULL).state
    assert_equal :fails, ratio(0.4).judge(cells, FULL).state
    assert_equal :undecided, ratio(0.54).judge(cells, FULL).state
    assert_match(/\A--processes \d+ would decide it|at its bound/, ratio(0.54).judge(cells, FULL).note)
    assert_in_delta 0.54, ratio(0.7).judge(cells, FULL).figure.estimate, 0.01
  end

  def test_what_is_reported_decides_nothing
    reported = Target::Reported.new(id: "t", text: "t", value: "string-100b", baseline: %w[memory_store read],
                                    candidate: %w[null_store read])
    outcome = reported.judge(cells, FULL)
    assert_equal [:reported, nil], [outcome.state, outcome.note]
    assert_in_delta 0.54, outcome.figure.estimate, 0.01
    refute(cells.any? { |cell| reported.undecided?(cell) })
  end

  def test_what_was_not_measured_cannot_be_judged
    made = cells
    made.find { |cell| cell.arm.name == "null_store" }.note("status" => "misses", "reason" => "nothing came back")
    outcome = ratio(0.7).judge(made, FULL)
    assert_equal [:cannot_run, "null_store: misses: nothing came back"], [outcome.state, outcome.note]
  end

  def test_a_noise_floor_is_judged_by_its_farther_bound
    floor = Target::Floor.new(id: "f", text: "f", value: "string-100b", baseline: %w[memory_store read], at_most: 0.03)
    assert_equal :holds, floor.judge(cells, FULL).state
  end

  def test_every_declared_target_names_a_value_and_operations_that_exist
    measured = Lab::Tables::Musts::Targets.all.select(&:group)
    assert_operator measured.size, :>, 30
    measured.each do |target|
      assert Lab::Values.known?(target.value), target.id
      [target.baseline, target.candidate].compact.each do |_store, operation|
        assert Lab::Operations.known?(operation), target.id
      end
      assert_operator target.bound, :>, 0 unless target.is_a?(Target::Reported)
      refute_empty target.text
    end
  end
end
