# frozen_string_literal: true

require_relative "../support/lab_case"

# Verdicts on recorded gates of test/long/gate_test.rb: logarithms of head / base by pass, process and block. A head
# that is 10 % slower fails, and an equal head never fails.
class GateRecordedTest < LabCase
  GATES = JSON.parse(File.read(File.join(__dir__, "recorded.json")))
  MARGIN = Lab::Sides::Judgement::MARGINS.fetch("time")
  Judgement = Lab::Sides::Judgement

  # Analyzes as a gate does: after six processes, then after twice as many until it is decided.
  def ratio(processes)
    analyses = Lab::Sides::Timing::PROTOCOL.analyses
    sizes = analyses.sizes.select { |size| size <= processes.size }
    sizes.each_with_index do |size, index|
      found = Lab::Statistics::MedianInterval.of(processes.first(size), alpha: analyses.alpha(size)).exp.record
      return found if decided?(found) || index == sizes.size - 1
    end
  end

  def decided?(found) = Judgement.slower?(found, MARGIN) || Judgement.within?(found, MARGIN)

  # Some recordings end where narrower intervals than today's had decided. A gate would measure on.
  def whole?(gate)
    last = Lab::Sides::Timing::PROTOCOL.analyses.sizes.last
    gate["passes"].all? { |pass| pass.size >= last || decided?(ratio(pass)) }
  end

  def verdict(gate) = Judgement.time(gate["passes"].map { |pass| ratio(pass) }, margin: MARGIN)["verdict"]

  def verdicts(kind) = GATES.select { |gate| gate["kind"] == kind }.map { |gate| verdict(gate) }

  def test_ten_percent_more_is_found
    whole, cut = GATES.select { |gate| gate["kind"] == "slower" }.partition { |gate| whole?(gate) }
    assert_equal [18, 1], [whole.size, cut.size]
    assert_equal ["regressed"], whole.map { |gate| verdict(gate) }.uniq
  end

  def test_the_same_never_fails
    assert_operator verdicts("same").size, :>=, 13
    assert_equal %w[same], verdicts("same").uniq
    assert_empty verdicts("busy") & %w[regressed], "beside a busy loop it may be undecided"
  end

  # A timing whose passes take as long as planned.
  class Planned < Tiercel::Lab::Sides::Timing
    attr_reader :sizes

    def initialize(cells, seconds)
      tree = Struct.new(:name) { def contestant(cell) = Tiercel::Lab::Contestants.parse(cell.text) }.new("head")
      run = Class.new { def interrupted? = false }.new
      settings = Struct.new(:quick).new(false)
      super(cells, [tree], run:, margins: Tiercel::Lab::Sides::Judgement::MARGINS, settings:)
      @left, @sizes = seconds, []
      within(nil, 0.3)
    end

    def left = @left

    def pass(cells, budget:, null: true)
      @sizes << cells.size
      @left -= 0.9 * budget
      cells.to_h { |cell| [cell, nil] }
    end
  end

  def test_what_a_pass_leaves_of_the_budget_times_further_cells
    cells = Array.new(50) do |index|
      Lab::Sides::Cell.store("memory_store", "read", "string-100b").with(label: "cell #{index}")
    end
    { 1_000.0 => [50], 240.0 => [25, 8], 30.0 => [], 0.0 => [] }.each do |seconds, sizes|
      timing = Planned.new(cells, seconds)
      assert_equal cells.map(&:label), timing.rows.map { |row| row["cell"] }
      assert_equal sizes, timing.sizes, seconds
    end
  end

  def test_every_verdict_on_a_time
    ratio = ->(low, high) { { "estimate" => (low + high) / 2, "low" => low, "high" => high } }
    { [ratio[1.06, 1.2], ratio[1.06, 1.2]] => "regressed", [ratio[1.06, 1.2], ratio[1.04, 1.2]] => "not confirmed",
      [ratio[1.06, 1.2], nil] => "not confirmed", [ratio[0.98, 1.04], nil] => "same",
      [ratio[0.7, 0.9], nil] => "improved", [ratio[0.98, 1.2], nil] => "cannot tell",
      [ratio[0.7, 0.9].merge("mean" => ratio[1.0, 1.2]), nil] => "cannot tell",
      [ratio[0.9, 1.04].merge("mean" => ratio[0.9, 1.2]), nil] => "cannot tell",
      [nil, nil] => "cannot tell" }.each do |passes, verdict|
      assert_equal verdict, Judgement.time(passes, margin: 0.05)["verdict"], passes.to_s
    end
    assert_equal "same", Judgement.time([ratio[1.06, 1.2], nil], margin: nil)["verdict"]
  end

  def test_every_verdict_on_a_count
    { [[4.0, 4.0], [5.0, 5.0]] => "regressed", [[4.0, 4.0], [4.0, 4.0]] => "same",
      [[4.0, 4.0], [3.0, 3.0]] => "improved",
      [[209.0, 211.0], [212.0, 212.5]] => "same", [[209.0, 211.0], [214.0, 214.5]] => "regressed",
      [[4.0, 4.0], [4.04, 4.04]] => "same" }.each do |(base, head), verdict|
      assert_equal verdict, Judgement.exact("objects", base, head, margin: 0)["verdict"], [base, head].to_s
    end
    assert_equal "same", Judgement.exact("objects", [4.0], [5.0], margin: 1)["verdict"]
    assert_equal "same", Judgement.exact("objects", [4.0], [5.0], margin: nil)["verdict"]
  end
end
