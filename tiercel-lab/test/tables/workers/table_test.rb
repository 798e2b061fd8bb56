# frozen_string_literal: true

require_relative "../../support/lab_case"

class WorkersCommandTest < LabCase
  class Short < Tiercel::Lab::Tables::Workers::Table
    called "workers", Tiercel::Lab::Tables::Workers::Table.summary

    def design = super.with(warm_up: 3_000, requests: 1_200, segments: 2, value_bytes: 1_000)
  end

  def workers(*arguments, &) = run_command(Short, "--quick", *arguments, &)

  def hit_ratio(rows, store, count)
    segments = rows.find { |row| row.values_at("store", "workers") == [store, count] }["loads"].flatten
    segments.sum { |segment| segment["hits"] }.fdiv(segments.sum { |segment| segment["requests"] })
  end

  def test_one_for_all_hits_more_than_one_in_each_of_equal_total_bytes
    workers("--store", "tiercel:memory:,tiercel:shared:", "--workers", "1,4", "--total", "1MB") do |code, command|
      assert_equal 0, code, command.err.string
      assert_empty SCHEMA.errors(command.results)
      rows = command.results["tables"].first["rows"]
      assert_equal ["measured"], rows.map { |row| row["status"] }.uniq, rows.map { |row| row["reason"] }.inspect
      assert_operator hit_ratio(rows, "tiercel:shared:", 4), :>, hit_ratio(rows, "tiercel:memory:", 4) + 0.05
      assert_equal 4, rows.find { |row| row["workers"] == 4 }["loads"].size
      assert_match(/^tiercel:memory: \(in each\) +4 +256 KB/, command.out.string)
      assert_match(/^tiercel:shared: \(shared\) +4 +1.00 MB/, command.out.string)
    end
  end

  def test_servers_get_the_total_and_count_as_resident
    skip "memcached is not installed" unless Lab::Servers::Memcached.installed?
    workers("--store", "mem_cache_store", "--workers", "2", "--total", "2MB") do |code, command|
      assert_equal 0, code, command.err.string
      row = command.results["tables"].first["rows"].first
      assert_equal ["measured", false], row.values_at("status", "own"), row["reason"].inspect
      assert_operator row["server_cpu"], :>, 0 if File.directory?("/proc/self")
    end
  end

  def test_tiers_share_the_total
    workers("--store", "tiercel:shared: sqlite:", "--workers", "2", "--total", "8MB") do |code, command|
      assert_equal 0, code, command.err.string
      row = command.results["tables"].first["rows"].first
      assert_equal ["measured", false], row.values_at("status", "own"), row["reason"].inspect
      assert_match(/--store 'tiercel:shared: sqlite:' --workers 2/, command.out.string)
    end
    stack = Tiercel::Lab::Tables::Workers::Design::STORES.fetch("tiercel:shared: redis:")
    assert_equal 1_000, stack.near_bytes(4_000)
    assert_equal 0, Tiercel::Lab::Tables::Workers::Design::STORES.fetch("tiercel:redis:").near_bytes(4_000)
  end

  def test_what_makes_no_sense_is_refused
    complaints = {
      ["--workers", "0"] => /> 0/, ["--store", "cloud"] => /memory_store/,
      ["--total", "much"] => /20KB/,
    }
    assert_refused(complaints) { |arguments, check| workers(*arguments, &check) }
  end
end
