# frozen_string_literal: true

require "test_helper"
require "tiercel/lab/report"

class ReportFlameGraphTest < Tiercel::TestCase
  Charts = Tiercel::Lab::Report::Charts
  FOLDED = { "main;a;b" => 6_000, "main;a" => 2_000, "main;c" => 1_996, "main;rare" => 4 }.freeze

  def boxes(svg)
    box = /<svg x="([\d.]+)%" y="(\d+)" width="([\d.]+)%" height="\d+" data-tip="([^:"]+)/
    svg.scan(box).to_h do |x, y, width, name|
      [name, [x.to_f, y.to_i, width.to_f]]
    end
  end

  def test_stacks_are_summed_and_own_time_is_apart
    stacks = Charts::Stacks.parse("main;a;b 60\nmain;a 15\n\nmain;a 5\nmain;with space 20\n")
    assert_equal 100, stacks.total
    assert_equal({ "b" => 60, "a" => 20, "with space" => 20 }, stacks.own_by_name)
    frames = stacks.each_frame.map { |frame, depth| [frame.name, depth] }
    assert_equal [["all", 0], ["main", 1], ["a", 2], ["b", 3], ["with space", 2]], frames
    assert_match(/"main;a".*NUMBER/, assert_raises(ArgumentError) { Charts::Stacks.parse("main;a") }.message)
  end

  def test_recursion_counts_each_sample_once_as_own_time
    assert_equal({ "f" => 7 }, Charts::Stacks.parse("f;f;f 4\nf 3").own_by_name)
  end

  def test_widths_are_shares_and_callees_stand_above_their_caller
    found = boxes(Charts::FlameGraph.new("T", FOLDED).svg)
    assert_equal %w[a all b c main], found.keys.sort, "what is below a thousandth is left out"
    assert_equal [0.0, 100.0], found["main"].values_at(0, 2)
    assert_equal [0.0, 80.0], found["a"].values_at(0, 2)
    assert_equal [80.0, 19.96], found["c"].values_at(0, 2)
    assert_operator found["b"][1], :<, found["a"][1]
    assert_operator found["a"][1], :<, found["main"][1]
  end

  def test_the_twin_is_the_top_of_own_time
    rows = Charts::FlameGraph.new("T", FOLDED, unit: "ms").table(count: 2).rows
    assert_equal [["b", 6_000, 60.0], ["a", 2_000, 20.0]], rows.map { |row| row.map(&:value) }
  end

  def test_the_same_function_has_the_same_shade_everywhere
    shade = ->(folded) { Charts::FlameGraph.new("T", folded).svg[/data-tip="b:[^>]*><rect[^>]*class="(flame-\d)"/, 1] }
    assert_equal shade.call(FOLDED), shade.call("x;b" => 3)
    refute_nil shade.call(FOLDED)
  end

  def test_no_samples
    graph = Charts::FlameGraph.new("T", {})
    assert_equal "No samples.", graph.description
    assert_includes graph.svg, "<svg"
    assert_empty graph.table.rows
  end

  def test_the_differential_says_what_takes_more_and_what_less
    graph = Charts::DifferentialFlameGraph.new("T", { "main;a" => 50, "main;b" => 50 },
      { "main;a" => 80, "main;b" => 10, "main;n" => 10 })
    svg = graph.svg
    assert_includes svg, %(data-tip="a: 80 samples, 80.0 %, itself 80.0 %; +30.0 points against before">)
    assert_match(/data-tip="a:[^>]*><rect[^>]*class="more" fill-opacity="1.0"/, svg)
    assert_match(/data-tip="b:[^"]*\u221240.0 points[^>]*><rect[^>]*class="less"/, svg)
    assert_match(/data-tip="main:[^>]*><rect[^>]*class="unchanged"/, svg)
    rows = graph.table.rows.map { |row| row.map(&:value) }
    assert_equal [["b", 50.0, 10.0, -40.0], ["a", 50.0, 80.0, 30.0], ["n", 0.0, 10.0, 10.0]], rows
    assert_match(/largest change: b, 50.0 % to 10.0 %/, graph.description)
  end

  def test_shares_are_compared_not_samples
    graph = Charts::DifferentialFlameGraph.new("T", { "a" => 5, "b" => 5 }, { "a" => 500, "b" => 500 })
    refute_match(/class="(more|less)"/, graph.svg)
  end
end
