# frozen_string_literal: true

require_relative "../../support/lab_case"

class GrowthCommandTest < LabCase
  class Short < Tiercel::Lab::Tables::Growth::Table
    called "growth", Tiercel::Lab::Tables::Growth::Table.summary

    def design = super.with(calls: 200, slices: 2)
  end

  def growth(*arguments, &) = run_command(Short, "--quick", *arguments, &)

  def test_what_was_measured_is_printed_and_printed_again
    growth("--store", "memory_store,tiercel:shared:", "--entries", "100,2_000", "--size", "2KB") do |code, command|
      assert_equal 0, code, command.err.string
      check_results(command)
      rows = command.results["tables"].first["rows"]
      assert_equal ["measured"], rows.map { |row| row["status"] }.uniq, rows.map { |row| row["reason"] }.inspect
      assert_equal [%w[bytes 100], %w[entries 100], %w[entries 2000]],
                   rows.map { |row| row.values_at("factor", "entries").map(&:to_s) }.uniq.sort
      sentence = command.out.string[/^From 100 to 2,000 entries .*\.$/]
      %w[memory_store tiercel:shared:].each do |store|
        assert_match(/(a read grows|no growth of a read can be told with) .*#{store}[.,;]/, sentence)
      end
      assert_match(/^tiercel:shared: +2,000 +[\d.,]+ us .* us .* us /, command.out.string)
      assert_match(/<svg/, Lab::Report::Html.render(command.document))
    end
  end

  def test_processes_share_what_one_of_them_wrote_and_a_servers_memory_counts
    skip "memcached is not installed" unless Lab::Servers::Memcached.installed?
    growth("--store", "tiercel:shared:,tiercel:memcached:,memory_store", "--workers", "2") do |code, command|
      assert_equal 0, code, command.err.string
      rows = command.results["tables"].first["rows"]
      assert_equal ["measured"], rows.map { |row| row["status"] }.uniq, rows.map { |row| row["reason"] }.inspect
      assert_equal [2], rows.map { |row| row["processes_slices"].size }.uniq
      by_store = rows.to_h { |row| row.values_at("store", "resident_bytes") }
      next unless by_store.values.all?
      written = 10_000 * 1_024
      by_store.each_value { |bytes| assert_operator bytes, :>, 0.8 * written }
      assert_operator by_store["memory_store"], :>, 2 * written, "one in each process"
    end
  end

  # A store that dropped entries has no time, because its misses would look fast.
  def test_a_store_that_does_not_keep_its_entries_has_no_time
    short = Class.new(Short) do
      called "growth", Short.summary
      def design
        small = Class.new(Tiercel::Lab::Tables::Growth::Design) { def capacity(*) = 64 * 1024 }
        small.new(**super.to_h)
      end
    end
    run_command(short, "--quick", "--store", "memory_store", "--entries", "2000") do |code, command|
      assert_equal 4, code
      assert_match(/n\/a/, command.out.string)
      assert_match(/misses: \d+ of 200 entries were gone/, command.out.string)
    end
  end

  def test_what_makes_no_sense_is_refused
    complaints = {
      ["--entries", "0"] => /> 0/, ["--entries", "0.5"] => /whole number/, ["--store", "cloud"] => /memory_store/,
      ["--size", "much"] => /20KB/, ["--workers", "none"] => /> 0/,
    }
    assert_refused(complaints) { |arguments, check| growth(*arguments, &check) }
  end
end
