# frozen_string_literal: true

require "test_helper"
require "tiercel/lab/terminal/report_table"

class TerminalReportTableTest < Tiercel::TestCase
  Report = Tiercel::Lab::Report
  Cell = Report::Cell

  def test_columns_notes_reasons_and_the_command
    table = Report::Table.new("Reads", header: %w[store us miss], command: "lab compare", note: "Quick.")
    table.row("shared", 1.5, Cell.number(2.5, note: "Once.")).row("sqlite", 12.0,
      Cell.missing("too slow", remedy: "ask for less"))
    table.row("litecache", Cell.missing("no gem", remedy: "bin/setup x"), nil)
    assert_equal <<~TEXT, Tiercel::Lab::Terminal::ReportTable.new(table).to_s
      Reads
      Quick.

      store        us      miss
      shared     1.50  2.50 [1]
      sqlite     12.0   n/a [2]
      litecache  no gem; bin/setup x
      [1] Once.
      [2] too slow; ask for less

      Again: lab compare
    TEXT
  end

  def test_grey_where_every_figure_is
    terminal = Object.new.tap { |io| io.define_singleton_method(:tty?) { true } }
    style = Tiercel::Lab::Terminal::Style.new(terminal, {})
    table = Report::Table.new("T", header: %w[a b], rows: [["x", Cell.number(1, muted: true)], ["y", 2]])
    lines = Tiercel::Lab::Terminal::ReportTable.new(table).to_s(style).lines
    assert_match(/\e\[90mx/, lines[3])
    refute_match(/\e/, lines[4])
  end
end
