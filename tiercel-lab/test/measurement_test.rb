# frozen_string_literal: true

require_relative "support/lab_case"
require "tiercel/lab/runner/context"
require "tiercel/lab/servers"

# Whole measurements with fresh workers, short ones.
class MeasurementTest < LabCase
  # Told beforehand: differences below 3 % are none.
  def test_a_fifth_more_work_is_found_and_the_same_work_is_not
    cells = measure("planted_working:2000", "planted_working:2400", "again=planted_working:2000", protocol: SHORT)
    slower = cells.fetch("planted_working:2400").summary
    same = cells.fetch("again").summary
    assert_equal :slower, Lab::Statistics::Verdict.of(slower.ratio, threshold: 0.03), slower.inspect
    assert_includes 1.1..1.3, slower.ratio.estimate
    refute_includes %i[faster slower], Lab::Statistics::Verdict.of(same.ratio, threshold: 0.03), same.inspect
    refute_includes %i[faster slower], same.verdict
  end

  def test_contestants_that_are_wrong_or_miss_have_no_time
    cells = measure("memory_store", "planted_wrong", "planted_forgetful", "planted_tiring")
    assert_equal "measured", cells.fetch("memory_store").status
    assert_equal "wrong values", cells.fetch("planted_wrong").status
    assert_equal "misses", cells.fetch("planted_forgetful").status
    assert_equal "wrong values", cells.fetch("planted_tiring").status
    assert_equal %w[memory_store],
                 cells.values.select { |cell| cell.arm.row? && cell.summary }.map { |cell| cell.arm.name }
  end

  def test_what_cannot_run_says_why_and_hinders_nobody
    cells = measure("memory_store", "planted_absent", "planted_elsewhere", "null_store")
    assert_match(/gem a_gem_that_nobody_has is not in the bundle/, cells.fetch("planted_absent").reason)
    assert_match(/no bundle "nowhere"/, cells.fetch("planted_elsewhere").reason)
    assert cells.fetch("memory_store").measured?
    assert cells.fetch("null_store").summary.ratio
  end

  # The parent lets the two workers take turns.
  def test_a_contestant_with_its_own_bundle_runs_in_its_own_worker
    cells = measure("planted_working:1000", "planted_apart:2000", "null=planted_working:1000", protocol: apart_protocol)
    apart = cells.fetch("planted_apart:2000")
    assert_nil apart.reason
    assert_includes 1.6..2.4, apart.summary.ratio.estimate
    slices = cells.values.flat_map { |cell| cell.slices.map { |slice| [cell.arm.contestant.bundle, slice] } }
    turns = slices.select { |_bundle, slice| slice.process.zero? && slice.block.zero? }.sort_by do |_bundle, slice|
      slice.position
    end
    assert_equal turns.map(&:first), turns.map(&:first).reverse
    assert_equal apart_protocol.processes * apart_protocol.blocks * 2, apart.slices.size
  end

  def apart_protocol = SHORT.with(processes: 2, blocks: 4)

  def test_a_run_that_is_behind_has_fewer_blocks
    cell = measure("memory_store", protocol: TINY.with(blocks: 50, budget_seconds: 0.001)).fetch("memory_store")
    assert_equal [Lab::Protocol::LEAST_BLOCKS], cell.block_ns.values.map(&:size).uniq
    assert_includes cell.summary.flags, "hurried"
  end

  def test_every_block_is_kept_and_balanced
    cell = measure("memory_store", "null_store").fetch("null_store")
    assert_equal TINY.processes * TINY.blocks * 2, cell.slices.size
    assert_equal [cell.calls], cell.slices.map(&:calls).uniq
    assert_equal [0, 1], cell.slices.map(&:process).uniq.sort
    assert_equal 2, cell.block_ns.fetch(0).size
    assert_operator cell.gc_ns, :>=, 0
  end

  def test_a_worker_that_is_lost_takes_only_its_own_comparison
    comparisons = [compare("memory_store", "planted_dying"), compare("memory_store", operation: "miss")]
    cells = Lab::Measurement.new(comparisons, protocol: TINY, seed: 1, requires: [PLANTED]).run.group_by(&:comparison)
    assert_equal ["cannot run"], cells.fetch(comparisons.first).map(&:status).uniq
    assert_match(/signal 9/, cells.fetch(comparisons.first).first.reason)
    assert_equal [true], cells.fetch(comparisons.last).map(&:measured?).uniq
  end

  def test_several_readers_each_with_a_writer_beside
    cells = measure("tiercel:shared:", "memory_store", operation: "read_beside_writer")
    assert_empty cells.values.reject(&:measured?).map(&:reason)
  end

  def test_servers_are_started_and_stopped
    comparison = compare("memory_store", "mem_cache_store", "tiercel:memory:", value: "html-2kb")
    measurement = Lab::Measurement.new([comparison], protocol: TINY, seed: 1)
    cells = measurement.run
    assert_empty cells.reject(&:measured?).map(&:reason)
    port = Integer(measurement.servers.first.fetch("address")[/\d+\z/])
    assert_raises(Errno::ECONNREFUSED) { Socket.tcp("127.0.0.1", port) }
    assert_equal Lab::Values.fetch("html-2kb").then { |value| value.digest(value.generate(1)) },
                 measurement.digests["html-2kb"]
  end

  # A server of the user's keeps what it had, and nothing of ours.
  def test_a_server_of_the_users_is_not_flushed
    Lab::Servers::Redis.run do |server|
      server.command("SET", "theirs", "precious")
      comparisons = %w[read miss fetch_record increment].map { |name| compare("mine=#{server.url}", operation: name) }
      cells = Lab::Measurement.new(comparisons, protocol: TINY, seed: 1).run
      assert_empty cells.reject(&:measured?).map(&:reason)
      assert_equal "precious", server.command("GET", "theirs")
      assert_equal "1", server.command("DBSIZE")
    end
  end

  def test_no_folder_is_left_between_rounds
    scratch = Lab::Runner::Scratch.new
    context = Lab::Runner::Context.new(servers: {}, folders: scratch.folders, label: "x")
    path = context.directory("disk")
    File.write(File.join(path, "big"), "x")
    context.clean_up
    refute File.exist?(path)
  ensure
    scratch&.remove
  end

  def test_arms_may_have_different_operations
    baseline = [Lab::Contestants.parse("memory_store"), Lab::Operations.fetch("read")]
    other = [Lab::Contestants.parse("tiercel:memory:"), Lab::Operations.fetch("backend_get")]
    comparison = Lab::Comparison.between(value: Lab::Values.fetch("string-1kb"), baseline:, others: [other])
    cells = Lab::Measurement.new([comparison], protocol: TINY, seed: 1).run
    assert_operator cells.find { |cell| cell.arm.role == :contestant }.summary.ratio.estimate, :<, 1.0
  end
end
