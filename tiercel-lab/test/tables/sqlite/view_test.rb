# frozen_string_literal: true

require_relative "../../support/lab_case"
require_relative "../../support/canned"

class SqliteDocumentTest < LabCase
  STORES = { "litecache" => 100_000, "solid_cache_store:postgresql" => "no postgres here",
             "tiercel:sqlite:" => 20_000 }.freeze

  def cells
    %w[string-100b string-10000b].product(%w[write read]).flat_map do |value, operation|
      Canned.cells(compare(*STORES.keys, operation:, value:), STORES)
    end
  end

  def shared
    histogram = Lab::Statistics::Histogram.new
    [10_000, 20_000, 3_000_000].each { |ns| histogram.record(ns) }
    row = { value: "string-100b", store: "litecache", operation: "write", status: "measured", reason: nil }
    [row.merge(rates: [[900.0, 1_000.0], [1_100.0, 1_200.0]], histogram: histogram.to_h),
     row.merge(store: "tiercel:sqlite:", rates: [], status: "misses", reason: "nothing came back")]
  end

  def document(tables = { "two processes" => [shared, { processes: 2, rounds: 2, seconds: 0.1 }] })
    Lab::Tables::Sqlite::Table.report(Canned.results(command: "sqlite", cells:, tables:),
                                   command: "bin/lab sqlite --quick")
  end

  def table(title) = document.tables.find { |table| table.title == title }

  def test_a_line_for_each_store_and_a_column_for_each_size
    table = table("SQLite: writes a second")
    assert_equal ["store", "pragmas", "100 B", "10,000 B"], table.header
    assert_equal STORES.keys, table.rows.map { |row| row.first.to_s }
    assert_in_delta 10_000, table.rows[0][2].value, 1
    assert_in_delta 50_000, table.rows[2][3].value, 10
    assert_equal "cannot run: no postgres here", table.rows[1][2].to_s
    assert_match(/synchronous 0/, table.rows[0][1].to_s)
  end

  # Rates are averaged by their logarithms, as all times are.
  def test_two_processes_with_the_slowest_call
    table = table("SQLite: two processes write")
    assert_equal ["1,044 [900\u20131,200]", "3,000 us"], table.rows[0].values_at(2, 5).map(&:to_s)
    assert_equal "misses: nothing came back", table.rows[1][2].to_s
  end

  def test_the_sentence_names_both_and_the_verdict
    sentence = document.verdicts.first.sentence
    assert_match(/tiercel:sqlite: writes 50,\d+|tiercel:sqlite: writes 49,\d+/, sentence)
    assert_match(/litecache 10,000 \(faster\)/, sentence)
    assert_match(/14,763/, Lab::Report::Markdown.render(document))
  end

  def test_what_was_not_measured_says_so
    assert_match(/Not measured/, Lab::Report::Markdown.render(document({})))
  end

  def test_the_plan_counts_both_parts
    out = StringIO.new
    assert_equal 0, Lab::CLI.run(%w[sqlite --plan --quick], out:, program: "bin/lab")
    assert_match(/Two processes at once: 5 stores.*\n\n28 cells/m, out.string)
  end
end
