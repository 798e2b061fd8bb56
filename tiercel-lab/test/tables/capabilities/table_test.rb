# frozen_string_literal: true

require_relative "../../support/lab_case"

class CapabilitiesTest < LabCase
  TABLE = Lab::Tables::Capabilities::Table

  def test_marks_are_what_the_stores_answer
    stores = ["memory_store", "null_store", "mem_cache_store", "tiercel:shared:", "tiercel:shared: memcached:",
              "planted_absent"]
    chosen = stores.flat_map { |text| ["--store", text] }
    run_table(TABLE, "--quick", "--require", PLANTED, *chosen) do |code, command|
      assert_equal 3, code, "planted_absent was named, and cannot run"
      rows = command.document.tables.first.rows.to_h { |row| [row.first.to_s, row.drop(1).map(&:to_s)] }
      assert_equal ["yes", "partly", "no", "no", "no", "no", "no", "memory"], rows["memory_store"]
      assert_equal ["yes", "yes", "yes", "yes", "yes", "yes", "yes", "memory of the server"], rows["mem_cache_store"]
      assert_equal %w[yes yes yes], rows["tiercel:shared:"].values_at(0, 3, 4)
      assert_equal "memory", rows["tiercel:shared:"].last
      assert_equal ["yes", "yes", "no", "yes", "yes", "yes", "yes", "memory of the server"],
                   rows["tiercel:shared: memcached:"]
      assert_equal ["no", "no", "nothing is kept"], rows["null_store"].values_at(0, 3, 7)
      assert_match(/a_gem_that_nobody_has/, rows["planted_absent"].first)
      assert_match(/\A5 stores asked, 1 could not be; shared by processes: mem_cache_store, tiercel:shared:, /,
                   command.document.verdicts.first.sentence)
    end
  end

  # A store that the gem refuses would end the whole table.
  def test_the_stores_that_are_asked_by_themselves_can_be_built
    Lab::Tables::Capabilities::Design::FULL.stores.each { |text| assert_equal text, Lab::Contestants.parse(text).text }
  end

  def test_differences_from_the_article
    marks = Lab::Tables::Capabilities::View::COLUMNS.to_h { |column| [column, { "mark" => "yes", "note" => nil }] }
    marks["limited by"] = { "words" => "disk" }
    tables = [{ "name" => "capabilities", "rows" => [{ "store" => "file_store:disk", "marks" => marks }],
                "notes" => {} }]
    document = TABLE.report(results_of("capabilities", tables:), command: "bin/lab capabilities")
    different = document.tables.find { |table| table.title.include?("otherwise") }
    assert_equal [["local store", "no", "yes"], ["remote", "no", "yes"], ["cluster", "no", "yes"]],
                 different.rows.map { |row| row.drop(1).map(&:to_s) }
  end
end
