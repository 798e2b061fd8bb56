# frozen_string_literal: true

require "test_helper"
require_relative "sample"

# Runs the examples of tiercel-lab/docs/report.md.
class ReportGuideTest < Tiercel::TestCase
  GUIDE = File.read(File.expand_path("../../docs/report.md", __dir__))
  EXAMPLE = GUIDE[/^```ruby\n(.*?)^```$/m, 1]

  # The objects that the examples use.
  class Reader
    def results = { "schema" => "tiercel-lab/1" }
    def interval = Tiercel::Lab::Statistics::Interval.new(0.66, 0.64, 0.69)
    alias ratio interval
    def chart = SampleReport.forest
  end

  def test_the_example
    in_folder do |folder|
      code = EXAMPLE.sub("include Tiercel::Lab\n", "").gsub(/(?<![:\w])Report::/, "Tiercel::Lab::Report::")
      Reader.new.instance_eval(code)
      page = File.read(File.join(folder, "report.html"))
      ["1.2 %", "Steal was 4 %.", "needs sqlite3 1.x", "To paste"].each { |text| assert_includes page, text }
    end
  end

  def test_every_chart_has_its_row
    charts = Tiercel::Lab::Report::Charts
    drawn = charts.constants.map { |name| charts.const_get(name) }.grep(Class).select do |chart|
      chart < Tiercel::Lab::Report::Chart
    end
    drawn.each { |chart| assert_includes GUIDE, "`#{chart.name[/Charts::\w+/]}.new(", chart.name }
  end

  def in_folder
    with_tmpdir { |folder| Dir.chdir(folder) { yield folder } }
  end
end
