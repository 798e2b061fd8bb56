# frozen_string_literal: true

require_relative "../../support/lab_case"

class HerdCommandTest < LabCase
  # 2 processes of 4 threads, one round; takes seconds.
  SMALL = %w[--quick --processes 2 --threads 4 --block-ms 50 --rounds 1].freeze

  def herd(*stores, more: SMALL, code: 0)
    texts = stores.flat_map { |text| ["--store", text] }
    run_command(Lab::Tables::Herd::Table, *more, *texts, "--require", PLANTED) do |found, command|
      assert_equal code, found, command.out.string + command.err.string
      check_results(command)
      yield command.results["tables"].first["rows"], command
    end
  end

  def assert_measured(rows)
    assert_equal ["measured"], rows.map { |row| row["status"] }.uniq, rows.map { |row| row["reason"] }.inspect
    assert_equal [8], rows.map { |row| row["callers_ms"].size }.uniq
  end

  def runs(rows, store, condition)
    row = rows.find { |one| one.values_at("store", "condition") == [store, condition] }
    row["blocks_ms"].size
  end

  # While a caller holds the lease, no other caller runs the block.
  def assert_once(rows, stores, blocks: 1)
    stores.each do |store|
      ["cold, lease: true", "expired, stale_while_revalidate"].each do |condition|
        assert_equal blocks, runs(rows, store, condition), "#{store}, #{condition}"
      end
      assert_includes 1..8, runs(rows, store, "cold, lease: false")
    end
  end

  def test_the_missing_fragments_of_a_page_are_rendered_once_for_all_requests
    json = File.join(dir, "run.json")
    code, out, err = lab("herd", "--page", "--quick", "--rounds", "1", "--block-ms", "5", "--store",
                         "tiercel:shared:", "--results", dir, "--json", json)
    row = Lab::Engine::Results.load(json)["tables"].first["rows"].first
    skip(row["reason"]) if row["reason"]&.include?("could not be installed")
    assert_equal [0, [10], [50]], [code, row["renderings"], row["ms"].map(&:size)], out + err
    assert_match(/rendered: tiercel:shared: 10 times \(p99 /, out)
  end

  def test_a_page_has_the_stores_of_the_application_and_two_workers
    assert_match(/"tiercel:null:" is not known/, lab("herd", "--page", "--store", "tiercel:null:")[2])
    assert_match(/Puma has 2 workers/, lab("herd", "--page", "--processes", "3")[2])
    assert_match(/\A50 requests at once .*^In all about/m, lab("herd", "--page", "--plan")[1])
  end

  def test_with_a_lease_the_block_runs_once_for_all_processes_of_a_machine
    herd("tiercel:shared:", "tiercel:memory:") do |rows, command|
      assert_measured(rows)
      assert_once(rows, %w[tiercel:shared:])
      assert_once(rows, %w[tiercel:memory:], blocks: 2)
      assert_equal [["tiercel:memory:", true]], rows.map { |row| row.values_at("store", "own") }.uniq.select(&:last)
      assert_match(/^8 callers \(2 processes x 4 threads\), all at once, ran the block .*; once with `lease: true`;/,
                   command.out.string)
      line = command.out.string[/^tiercel:shared: +cold, lease: true .*$/]
      assert_match(/true +1 +1 +[\d.,]+ ms +[\d.,]+ ms +0$/, line)
    end
  end

  # With a store that keeps nothing every caller runs the block.
  def test_without_one_everybody_runs_it_and_a_store_of_each_process_is_known_as_such
    herd("null_store", "memory_store") do |rows, command|
      assert_measured(rows)
      assert_equal 8, runs(rows, "null_store", "cold")
      assert_includes 2..8, runs(rows, "memory_store", "cold")
      assert_includes 2..8, runs(rows, "memory_store", "expired, race_condition_ttl")
      assert_includes Lab::Report::Html.render(command.document), "memory_store"
    end
  end

  def test_what_no_block_made_is_wrong_and_what_was_not_stored_is_a_miss
    herd("planted_mixing", code: 4) do |rows, command|
      assert_equal ["wrong values"], rows.map { |row| row["status"] }.uniq
      assert_match(/wrong values: something else came back than was written/, command.out.string)
    end
    herd("planted_forgetful", code: 4, more: %w[--quick --processes 1 --threads 1 --block-ms 1 --rounds 4]) do |rows|
      forgotten = rows.select { |row| row["status"] == "misses" }
      assert_equal [3], forgotten.map { |row| row["round"] }.uniq
    end
  end
end
