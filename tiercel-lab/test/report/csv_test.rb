# frozen_string_literal: true

require "test_helper"
require "tiercel/lab"
require_relative "sample"

class ReportCsvTest < Tiercel::TestCase
  Report = Tiercel::Lab::Report
  Interval = Tiercel::Lab::Statistics::Interval

  def test_a_table_has_its_bounds_in_columns
    table = Report::Table.new("T", header: ["store", "us", "ok"])
    table.row("a, \"b\"", Interval.new(1.5, 1.25, 2.0), true).row("c", Report::Cell.missing("no gem"), nil)
    assert_equal <<~CSV, Report::Csv.render(table)
      store,us,us low,us high,ok
      "a, ""b""",1.5,1.25,2.0,yes
      c,n/a: no gem,,,
    CSV
  end

  def test_a_document_has_one_line_for_each_cell_of_all_tables
    document = SampleReport.document
    lines = Report::Csv.render(document).lines(chomp: true)
    cells = document.tables.sum { |table| table.rows.sum { |row| row.size - 1 } }
    assert_equal cells + 1, lines.size
    assert_equal "table,row,column,value,low,high,unit,note", lines.first
    assert_includes lines, "Cost of a hit,MemoryStore,us,3.92,3.7199999999999998,4.16,,"
  end
end
