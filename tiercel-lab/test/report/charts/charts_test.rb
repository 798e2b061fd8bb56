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

  def test_every_chart_is_well_formed_and_says_what_it_is
    all.each do |chart|
      root = parse(chart.svg(id: "id")).root
      assert_equal "svg", root.name
      assert_equal chart.title, root.elements["title"].text
      assert_equal "id-t id-d", root.attributes["aria-labelledby"]
      assert_operator root.elements["desc"].text.length, :>, 20, chart.title
      refute_match(/NaN|Infinity/, chart.svg, chart.title)
    end
  end

  def test_nothing_is_drawn_outside
    all.each do |chart|
      root = parse(chart.svg).root
      height = root.attributes["viewBox"].split.last.to_f
      REXML::XPath.match(root, ".//*[@x]|.//*[@cx]").each do |node|
        x = (node.attributes["x"] || node.attributes["cx"]).to_f + node.attributes["width"].to_f
        y = (node.attributes["y"] || node.attributes["cy"]).to_f + node.attributes["height"].to_f
        assert_includes(-0.1..Report::Chart::WIDTH + 0.1, x, "#{chart.title} #{node}")
        assert_includes(-0.1..height + 0.1, y, "#{chart.title} #{node}")
      end
    end
  end

  def test_names_are_escaped
    nasty = %(<script>"&'\xFF)
    plot = Charts::ForestPlot.new(nasty, baseline: nasty, margin: Interval.new(1.0, 0.98, 1.02))
    svg = plot.row(nasty, Interval.new(2.0, 1.5, 3.0), :slower).svg(id: "x")
    refute_includes svg, "<script"
    assert_equal "svg", parse(svg).root.name
  end

  def test_forest_plot_draws_its_band_and_colours_by_verdict
    svg = SampleReport.forest.svg
    assert_equal 1, with_class(svg, "floor").size
    assert_equal 3, with_class(svg, "verdict-faster").size
    assert_equal 1, with_class(svg, "verdict-cannot_tell").size
    one = with_class(svg, "one").first.attributes["x1"].to_f
    band = with_class(svg, "floor").first
    assert_includes band.attributes["x"].to_f..(band.attributes["x"].to_f + band.attributes["width"].to_f), one
    assert_raises(ArgumentError) { SampleReport.forest.row("x", Interval.new(1.0, 1.0, 1.0), :better) }
  end

  def test_line_chart_draws_every_point_bands_and_marks
    chart = SampleReport.latency
    assert_equal 24, with_class(chart.svg, "dot").size
    assert_equal 1, with_class(chart.svg, "band").size
    assert_equal 1, with_class(chart.svg, "crossover").size
    assert_equal %w[0.08 0.25 0.5 1 5 20], texts(chart.svg) & %w[0.08 0.25 0.5 1 5 20],
      "where was measured are the ticks"
    assert_equal 6, chart.table.rows.size
  end
end
