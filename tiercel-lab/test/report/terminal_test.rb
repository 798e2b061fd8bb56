# frozen_string_literal: true

require "test_helper"
require "tiercel/lab"

class TerminalReportTableTest < Tiercel::TestCase
  Report = Tiercel::Lab::Report
  Cell = Report::Cell

  def test_columns_notes_reasons_and_the_command
    table = Report::Table.new("Reads", header: %w[store us miss], command: "lab compare", note: "Quick.")
    table.row("shared", 1.5, Cell.number(2.5, note: "Once.")).row("sqlite", 12.0,
      Cell.missing("too slow", remedy: "ask for less"))
    table.row("litecache", Cell.missing("no gem", remedy: "bin/setup x"), nil)
    assert_equal <<~TEXT, Report::Terminal::TableView.new(table).to_s
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

  def test_grey_where_every_figure_is_or_the_figure_alone
    style = Report::Terminal::Style.new(screen, {})
    table = Report::Table.new("T", header: %w[a b], rows: [["x", Cell.number(1, muted: true)], ["y", 2]])
    lines = Report::Terminal::TableView.new(table).to_s(style).lines
    assert_match(/\e\[90mx/, lines[2])
    refute_match(/\e/, lines[3])
    table = Report::Table.new("T", header: %w[a b c],
                              rows: [["x", Cell.number(1, muted: true), :faster], ["y", 2, :slower]])
    lines = Report::Terminal::TableView.new(table).to_s(style).lines
    assert_equal ["x  \e[90m1\e[0m  \e[32mfaster\e[0m\n", "y  2  \e[31mslower\e[0m\n"], lines.last(2)
  end

  # Overlaps are visible. The reference row has text instead of an interval.
  def test_intervals_have_whiskers_on_one_scale
    interval = lambda do |*figures, **options|
      Cell.interval(Tiercel::Lab::Statistics::Interval.new(*figures), unit: "x", **options)
    end
    table = Report::Table.new("T", header: %w[store ratio])
    table.row("a", "baseline").row("b", interval.call(1.5, 1.0, 2.0))
    table.row("c", interval.call(2.3, 1.95, 2.3, muted: true))
    lines = Report::Terminal::TableView.new(table).to_s.lines.map(&:chomp)
    assert_equal ["store  ratio", "a      baseline          \u250A",
                  "b      1.50x [1.00\u20132.00] \u251C\u2500\u2500\u2500\u2500\u25CF\u2500\u2500\u2500\u2500\u2524",
                  "c      2.30x [1.95\u20132.30] \u250A         \u251C\u2500\u2500\u25CF"], lines.drop(1)
  end

  def test_a_table_is_aligned_and_refuses_ragged_rows
    table = Report::Terminal::Columns.new([["name", :left], ["us", :right]])
    table.row(%w[a 1.5]).row(["longer", 100]).note("none", "why not")
    assert_equal "name     us\na       1.5\nlonger  100\nnone    why not\n", table.to_s
    assert_raises(ArgumentError) { table.row(["one"]) }
  end

  def test_colours_only_at_a_terminal_and_not_against_the_users_wish
    assert_equal "\e[32mx\e[0m", Report::Terminal::Style.new(screen, {}).paint("x", :green)
    assert_equal "x", Report::Terminal::Style.new(screen, { "NO_COLOR" => "1" }).paint("x", :green)
    assert_equal "x", Report::Terminal::Style.new(nil, {}).paint("x", :green)
  end

  # An IO that claims to be a terminal.
  def screen = Object.new.tap { |io| io.define_singleton_method(:tty?) { true } }

  # A terminal of 80 columns.
  class Narrow < StringIO
    def tty? = true
    def winsize = [24, 80]
  end

  def narrow = Tiercel::Lab::Report::Terminal::Style.new(Narrow.new, { "NO_COLOR" => "1" })

  def test_a_table_that_is_too_wide_goes_on_below
    header = ["store", *("a".."f").map { |name| name * 18 }]
    table = Tiercel::Lab::Report::Table.new("Wide", header:, command: "bin/lab")
    table.row("memory_store", *1..6)
    table.row("other", Tiercel::Lab::Report::Cell.missing("no server", remedy: "start one"), *[""] * 5)
    lines = Tiercel::Lab::Report::Terminal::TableView.new(table).to_s(narrow).lines(chomp: true)
    assert_operator lines.map(&:length).max, :<=, 80
    assert_equal 2, lines.count { |line| line.start_with?("memory_store") }
    assert_equal 1, lines.count { |line| line.start_with?("other") }
    assert_equal (1..6).map(&:to_s), lines.grep(/^memory_store/).flat_map { |line| line.split.drop(1) }
    assert_operator Tiercel::Lab::Report::Terminal::TableView.new(table).to_s.lines.map(&:length).max, :>, 120
  end
end
