# frozen_string_literal: true

require "test_helper"
require "tiercel/lab"

class ReportTableTest < Tiercel::TestCase
  Report = Tiercel::Lab::Report
  Cell = Report::Cell
  Interval = Tiercel::Lab::Statistics::Interval

  def test_cells_from_plain_objects
    kinds = ["text", 1.5, Interval.new(1.0, 0.5, 2.0), :faster, true, false, nil, :other].map do |value|
      Cell.from(value).kind
    end
    assert_equal %i[text number interval verdict mark mark text text], kinds
    cell = Cell.number(3)
    assert_same cell, Cell.from(cell)
  end

  def test_texts
    assert_equal "0.580 us [0.540\u20130.628]", Cell.interval(Interval.new(0.58, 0.54, 0.628), unit: "us").to_s
    assert_equal "faster 0.148x [0.138\u20130.160]", Cell.verdict(:faster, Interval.new(0.148, 0.138, 0.16)).to_s
    assert_equal "cannot tell", Cell.from(:cannot_tell).to_s
    assert_equal "partly", Cell.mark(:partly).to_s
    assert_equal "12.0 us", Cell.number(12.0, unit: "us").to_s
  end

  def test_what_cannot_be_told_and_what_is_missing_are_muted
    assert_predicate Cell.verdict(:cannot_tell), :muted?
    assert_predicate Cell.missing("no gem"), :muted?
    refute_predicate Cell.verdict(:slower), :muted?
    refute_predicate Cell.number(1), :muted?
  end

  def test_data_for_machines
    assert_equal [0.58, 0.54, 0.62], Cell.interval(Interval.new(0.58, 0.54, 0.62)).data
    assert_equal ["faster", 0.1, 0.3], Cell.verdict(:faster, Interval.new(0.2, 0.1, 0.3)).data
    assert_equal ["n/a: no gem", nil, nil], Cell.missing("no gem", remedy: "gem install x").data
  end

  def test_unknown_words_are_refused
    assert_match(/:better.*faster/, assert_raises(ArgumentError) { Cell.verdict(:better) }.message)
    assert_match(/:maybe.*partly/, assert_raises(ArgumentError) { Cell.mark(:maybe) }.message)
  end

  def test_rows_have_a_cell_for_each_column
    table = Report::Table.new("Reads", header: %w[store us])
    error = assert_raises(ArgumentError) { table.row("a") }
    assert_match(/"Reads".*2 cells.*got 1/, error.message)
  end

  def test_footnotes_are_numbered_in_reading_order_without_doubles
    table = Report::Table.new("T", header: %w[a b c])
    first, second = Cell.number(1, note: "one"), Cell.number(2, note: "two")
    again, missing = Cell.number(3, note: "one"), Cell.missing("gone", remedy: "type this")
    table.row(first, second, 0).row(again, missing, 0)
    assert_equal %w[one two], table.footnotes
    assert_equal [1, 2, 1, nil], [first, second, again, missing].map { |cell| table.footnote(cell) }
  end

  def test_a_column_of_figures_is_numeric_even_where_some_are_missing
    table = Report::Table.new("T", header: %w[a b c],
      rows: [["x", 1, 1], ["y", Cell.missing("none"), "two"], ["z", nil, 3]])
    assert_equal [false, true, false], 3.times.map { |column| table.numeric?(column) }
  end

  def test_anchors
    assert_equal "reads-of-1-kb-lz4", Report::Table.new("Reads of 1 KB: LZ4!", header: %w[a]).anchor
    assert_equal "mine", Report::Table.new("x", header: %w[a], anchor: "mine").anchor
  end
end
