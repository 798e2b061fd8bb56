# frozen_string_literal: true

require_relative "../../support/lab_case"

class SqliteContentionTest < LabCase
  TINY_DESIGN = Lab::Tables::Sqlite::Table::QUICK.with(shared_values: %w[string-100b], processes: 1, rounds: 2,
                                                       seconds: 0.5)

  class Progress
    def advance(*); end
    def say(*); end
  end

  def rows_of(*stores)
    contention = Lab::Tables::Sqlite::Contention.new(TINY_DESIGN.with(shared_stores: stores), seed: 1,
                                                     requires: [PLANTED])
    contention.run(Progress.new)
    contention.rows
  end

  def test_two_processes_share_one_database
    write, read, *faulty = rows_of("tiercel:sqlite:", "planted_forgetful", "planted_elsewhere")
    [write, read].each do |row|
      assert_equal ["measured", nil], row.values_at("status", "reason")
      assert_equal [2], row["rates"].map(&:size)
      assert_operator row["rates"].flatten.min, :>, 0
      assert_equal 2, row["quantiles_us"].size
      row["quantiles_us"].each { |turn| assert_equal turn.values.sort, turn.values_at("median", "p99", "max") }
    end
    assert_equal %w[misses misses] + ["cannot run"] * 2, faulty.map { |row| row["status"] }
    assert_match(/no bundle "nowhere"/, faulty.last["reason"])
  end

  def test_a_shared_folder_is_left_as_it_is
    Dir.mktmpdir do |folder|
      contexts = Array.new(2) do
        Lab::Engine::Context.new(servers: {}, folders: { "disk" => folder }, label: "x", shared: true)
      end
      File.write(File.join(contexts.first.directory, "kept"), "")
      assert_equal ["kept"], Dir.children(contexts.last.directory)
      contexts.each(&:clean_up)
      assert_equal ["kept"], Dir.children(contexts.last.directory)
    end
  end
end
