# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/canned"

# Report tables that a view declares.
class ColumnsTest < LabCase
  # A row that is no Hash.
  Place = Struct.new(:store, :time, :failed)

  class View < Lab::Tables::View
    def half(row) = row["us"] / 2
  end

  def view = View.new(Canned.results(command: "growth"), command: "bin/lab growth")

  def test_a_column_is_a_fact_a_method_or_a_block_with_its_unit
    row = { "store" => "memory_store", "us" => 4.0, "status" => "measured" }
    columns = { "store" => "store", "time" => %w[us us], "half" => [:half, "us"], "double" => ->(one) { one["us"] * 2 },
                "none" => ->(_row) {} }
    table = view.columns_table("Times", [row], columns, labels: 1, raw: ->(one) { { one["store"] => [4.0] } })
    assert_equal ["memory_store", "4.00 us", "2.00 us", "8.00", ""], table.rows.first.map(&:to_s)
    assert_equal [["memory_store", [4.0], "us"]], table.blocks.map(&:to_a)
    assert_equal "bin/lab growth", table.command
  end

  def test_a_row_without_figures_has_its_labels_and_the_reason
    row = { "store" => "redis_cache_store", "us" => nil, "status" => "cannot run", "reason" => "no server" }
    columns = { "store" => "store", "time" => [:half, "us"], "article" => ->(_row) { 3 }, "again" => [:half, "us"] }
    table = view.columns_table("Times", [row], columns, labels: 1, always: ["article"], raw: ->(_row) { flunk })
    assert_equal ["redis_cache_store", "cannot run: no server", "3", ""], table.rows.first.map(&:to_s)
  end

  def test_methods_of_rows_that_are_no_hashes
    failed = Place.new("b", nil, { "status" => "misses", "reason" => "nothing came back" })
    columns = { "store" => :store, "time" => [:time, "ms"] }
    table = view.columns_table("Times", [Place.new("a", 2, nil), failed], columns, labels: 1)
    assert_equal [["a", "2 ms"], ["b", "misses: nothing came back"]], table.rows.map { |row| row.map(&:to_s) }
  end

  def test_a_spread_is_the_median_with_the_least_and_the_most
    assert_equal [2.0, 1, 9], view.spread([9, 1, 2]).to_h.values
    assert_equal [7, nil], [view.spread([7]), view.spread([])]
  end

  # Two processes are too few for a share of errors.
  def test_intervals_of_few_processes_are_called_a_range
    words = [1, 2, 3].map { |count| view.interval_words(count) }
    assert_equal ["the range of 1 process", "the range of 2 processes", "95 % intervals"], words
  end
end
