# frozen_string_literal: true

require_relative "../../support/lab_case"

class BootTest < LabCase
  Boot = Lab::Tables::Boot

  def test_each_store_boots_in_fresh_processes
    run_table(Boot::Table, "--store", "memory_store,tiercel:memory:", "--rounds", "2") do |code, command|
      assert_equal 0, code, command.out.string
      rows = command.results["tables"].find { |table| table["name"] == "boot" }["rows"]
      assert_equal [["memory_store", 2], ["tiercel:memory:", 2]], rows.map { |row| row["store"] }.tally.sort
      assert_equal ["measured"], rows.map { |row| row["status"] }.uniq
      ours = rows.select { |row| row["store"] == "tiercel:memory:" }
      ours.each { |row| assert_operator row["files"], :>, 50 }
      ours.each { |row| assert_operator row["cpu_ms"], :>, 1 }
      assert_match(/^tiercel:memory: +[\d.,]+ ms .* [\d.]+ MB/, command.out.string)
    end
  end

  # Files of the lab would hide the files that a store loads.
  def test_the_process_loads_nothing_of_the_lab
    refute_match(/require_relative|tiercel\/lab/, File.readlines(Boot::Trial::PROCESS).grep_v(/^#/).join)
  end

  def test_a_store_that_cannot_boot_keeps_its_row
    broken = Lab::Tables::App::Design::Store.new('tiercel_store memory: {"size":"none"}', nil)
    rows = boots("tiercel:memory:" => broken)
    assert_equal ["cannot run"], rows.map { |row| row["status"] }
    assert_match(/size/, rows.first["reason"])
    out = rendered(rows)
    assert_match(/^tiercel:memory: +cannot run: .*size/, out)
    assert_match(/Nothing could be measured/, out)
  end

  def test_what_makes_no_sense_is_refused
    assert_refused(%w[boot --store tiercel:null:] => /--store:.*"tiercel:null:"/, %w[boot --rounds 0] => /--rounds 0/)
  end

  private

  def boots(stores)
    design = Boot::Design.new(stores: stores.keys, rounds: 1)
    trial = Boot::Trial.new(design, seed: 1)
    trial.define_singleton_method(:boot) { |_store| super(stores.values.first) }
    trial.run(progress)
    trial.rows
  end

  def rendered(rows)
    results = results_of("boot", tables: [{ "name" => "boot", "notes" => {}, "rows" => rows }])
    Lab::Report::Terminal.render(Boot::Table.report(results, command: "bin/lab boot"))
  end
end
