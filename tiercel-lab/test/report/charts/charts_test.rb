# frozen_string_literal: true

require "test_helper"
require "rexml/document"
require_relative "../sample"

# Properties of all charts, and each chart's drawing.
class ReportChartsTest < Tiercel::TestCase
  Report = Tiercel::Lab::Report
  Charts = Report::Charts
  Interval = Tiercel::Lab::Statistics::Interval

  def all = SampleReport.document.sections.flat_map(&:elements).grep(Report::Chart)

  def parse(svg) = REXML::Document.new(svg)

  def texts(svg) = REXML::XPath.match(parse(svg), "//text").map(&:text)

  def with_class(svg, name)
    REXML::XPath.match(parse(svg), "//*").select { |node| node.attributes["class"].to_s.split.include?(name) }
  end

  def tips(svg) = svg.scan(/data-tip="([^"]*)"/).flatten

  def test_every_chart_is_well_formed_and_says_what_it_is_at_every_width
    all.each do |chart|
      [Report::Chart::NARROW, 500, Report::Chart::WIDE].each do |width|
        root = parse(chart.svg(width, id: "id")).root
        assert_equal "svg", root.name
        assert_equal chart.title, root.elements["title"].text
        assert_equal "id-t id-d", root.attributes["aria-labelledby"]
        assert_operator root.elements["desc"].text.length, :>, 20, chart.title
        refute_match(/NaN|Infinity/, chart.svg(width), chart.title)
      end
    end
  end

  def test_nothing_is_drawn_outside
    all.reject(&:fluid?).each do |chart|
      [Report::Chart::NARROW, Report::Chart::WIDE].each do |width|
        root = parse(chart.svg(width)).root
        height = root.attributes["viewBox"].split.last.to_f
        REXML::XPath.match(root, ".//*[@x]|.//*[@cx]").each do |node|
          x = (node.attributes["x"] || node.attributes["cx"]).to_f + node.attributes["width"].to_f
          y = (node.attributes["y"] || node.attributes["cy"]).to_f + node.attributes["height"].to_f
          assert_includes(-0.1..width + 0.1, x, "#{chart.title} #{node}")
          assert_includes(-0.1..height + 0.1, y, "#{chart.title} #{node}")
        end
      end
    end
  end

  def test_every_chart_has_a_text_twin_with_all_its_rows
    all.each do |chart|
      table = chart.table
      assert_operator table.rows.size, :>=, 2, chart.title
      assert_equal "#{chart.anchor}-table", table.anchor
    end
  end

  def test_names_are_escaped
    nasty = %(<script>"&'\xFF)
    charts = [Charts::BarChart.new(nasty, unit: nasty).row(nasty, Interval.new(2.0, 1.0, 3.0))]
    charts.each do |chart|
      svg = chart.svg(800, id: "x")
      refute_includes svg, "<script"
      assert_equal "svg", parse(svg).root.name
    end
  end

  def test_bars_are_proportional_and_whiskers_are_the_bounds
    chart = Charts::BarChart.new("T", unit: "us")
    chart.row("a", Interval.new(10.0, 8.0, 12.0)).row("b", Interval.new(20.0, 20.0, 20.0))
    bars = with_class(chart.svg, "bar").map { |bar| bar.attributes["width"].to_f }
    assert_in_delta 2.0, bars[1] / bars[0], 0.01
    whisker = with_class(chart.svg, "whisker").first
    bar = with_class(chart.svg, "bar").first
    per_us = bars[0] / 10
    assert_in_delta bar.attributes["x"].to_f + (8 * per_us), whisker.attributes["x1"].to_f, 0.2
    assert_in_delta bar.attributes["x"].to_f + (12 * per_us), whisker.attributes["x2"].to_f, 0.2
    assert_includes tips(chart.svg), "a: 10.0 us [8.0\u201312.0]"
  end

  def test_crossings_are_interpolated_on_the_axes_of_the_chart
    linear = Charts::LineChart.new("T", x: "x", y: "y").series("a", [[0, 0], [10, 10]]).series("b", [[0, 4], [10, 4]])
    assert_equal [4.0], linear.crossings("a", "b")
    log = Charts::LineChart.new("T", x: "x", y: "y", x_scale: :log, y_scale: :log)
    log.series("a", [[1, 1], [100, 100]]).series("b", [[1, 10], [100, 10]])
    assert_in_delta 10.0, log.crossings("a", "b").first
    assert_empty linear.crossings("b", "b").reject { |x| [0, 10].include?(x) }
    assert_match(/series "c".*a, b/, assert_raises(ArgumentError) { linear.crossings("a", "c") }.message)
  end

  def test_percentiles_each_nine_takes_the_same_room
    chart = Charts::PercentileSpectrum.new("T", unit: "us").series("a", [[0, 1], [90, 2], [99, 3], [99.9, 4]])
    xs = with_class(chart.svg, "dot").map { |dot| dot.attributes["cx"].to_f }
    distances = xs.each_cons(2).map { |left, right| right - left }
    distances.each { |distance| assert_in_delta distances.first, distance, 0.3 }
    assert_equal %w[p0 p90 p99 p99.9], chart.table.rows.map { |row| row.first.to_s }
    assert_match(/100/, assert_raises(ArgumentError) { chart.series("b", [[100, 1]]) }.message)
  end
end
