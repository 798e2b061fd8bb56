# frozen_string_literal: true

require_relative "../support/lab_case"

# Short, complete measurements with fresh workers.
class MeasurementTest < LabCase
  TWICE = TINY.with(processes: 2)

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

  # The parent lets two workers run in turn.
  def test_a_contestant_with_its_own_bundle_runs_in_its_own_worker
    cells = measure("steps:1000", "planted_apart:10000", "null=steps:1000",
                    protocol: TINY.with(blocks: 4, slice_ns: 3_000_000))
    apart = cells.fetch("planted_apart:10000")
    assert_nil apart.reason
    assert_operator apart.summary.ratio.estimate, :>, 1, "ten times the work"
    slices = cells.values.flat_map { |cell| cell.slices.map { |slice| [cell.arm.contestant.bundle, slice] } }
    turns = slices.select { |_bundle, slice| slice.block.zero? }.sort_by { |_bundle, slice| slice.position }
    assert_equal turns.map(&:first), turns.map(&:first).reverse
    assert_equal 8, apart.slices.size
  end

  # With so few blocks nothing decides, so the cell continues until its last analysis. Decided cells do not.
  def test_what_is_undecided_goes_on_and_what_is_decided_does_not
    protocol = TINY.with(equality: true, threshold: nil, most_processes: 3)
    decided = ->(cell) { cell.arm.name == "steps:12" }
    comparison = compare("steps:10", "steps:11", "steps:12")
    cells = Lab::Engine::Measurement.new([comparison], protocol:, seed: 1, decided:).run
    assert_equal({ "steps:10" => 2, "steps:11" => 2, "steps:12" => 1, "steps:10 (again)" => 2 },
                 cells.to_h { |cell| [cell.arm.name, cell.block_ns.size] })
  end

  def test_a_look_that_was_interrupted_is_none
    protocol = TINY.with(equality: true, threshold: nil, most_processes: 2)
    steps = 0
    progress = Object.new
    progress.define_singleton_method(:expect) { |_seconds| nil }
    progress.define_singleton_method(:advance) { |*| raise Interrupt if (steps += 1) == 2 }
    measurement = Lab::Engine::Measurement.new([compare("steps:10", "steps:11")], protocol:, seed: 1, progress:,
                                       decided: ->(_cell) { false })
    assert_raises(Interrupt) { measurement.run }
    assert_equal [1], measurement.cells.map { |cell| cell.block_ns.size }.uniq
  end

  def test_an_arm_that_is_lost_takes_nobody_with_it
    lost = { "planted_dying" => /signal 9/, "planted_raising" => /the connection is lost/, "planted_ending" => /ended/ }
    comparisons = [compare("memory_store", *lost.keys), compare("memory_store", operation: "miss")]
    cells = Lab::Engine::Measurement.new(comparisons, protocol: TWICE, seed: 1,
                                         requires: [PLANTED]).run.group_by(&:comparison)
    found = cells.fetch(comparisons.first).to_h { |cell| [cell.arm.name, cell] }
    assert_equal %w[memory_store] + ["memory_store (again)"], found.select { |_, cell| cell.measured? }.keys
    assert_equal 2, found.fetch("memory_store").block_ns.size
    lost.each { |name, reason| assert_match(reason, found.fetch(name).reason) }
    assert_equal [true], cells.fetch(comparisons.last).map(&:measured?).uniq
  end

  # The worker is killed between the two comparisons of its first round, or of its second one.
  def test_a_killed_worker_costs_one_comparison_of_its_round
    { 1 => [[0, 1], [1]], 3 => [[0], [0, 1]] }.each do |last, processes|
      steps = 0
      progress = Object.new
      progress.define_singleton_method(:advance) do |*|
        next unless (steps += 1) == last
        Dir["/proc/[0-9]*/stat"].each do |path|
          pid, _name, _state, parent = File.read(path).split rescue next
          next unless parent.to_i == Process.pid && File.read("/proc/#{pid}/cmdline").include?("engine/worker")
          Process.kill(:KILL, pid.to_i)
        end
      end
      comparisons = [compare("memory_store"), compare("memory_store", operation: "miss")]
      measurement = Lab::Engine::Measurement.new(comparisons, protocol: TWICE, seed: 1, progress:)
      found = measurement.run.group_by(&:comparison).values.map { |cells| cells.map { |cell| cell.block_ns.keys }.uniq }
      assert_equal processes.map { |of_cells| [of_cells] }, found
      said = Lab::Engine::Warnings.of([], measurement.cells, interrupted: false).grep(/lost/).join
      assert_match(/\AA process was lost, .*signal 9.*; the others count: string-100b.(read|miss).memory_store, /, said)
    end
  end

  def test_servers_are_started_and_stopped
    comparison = compare("memory_store", "mem_cache_store", "tiercel:memory:", value: "html-2kb")
    measurement = Lab::Engine::Measurement.new([comparison], protocol: TINY, seed: 1)
    cells = measurement.run
    assert_empty cells.reject(&:measured?).map(&:reason)
    port = Integer(measurement.servers.first.fetch("address")[/\d+\z/])
    assert_raises(Errno::ECONNREFUSED) { Socket.tcp("127.0.0.1", port) }
    assert_equal Lab::Values.fetch("html-2kb").then { |value| value.digest(value.generate(1)) },
                 measurement.digests["html-2kb"]
  end

  # A user's server keeps its own data, and loses the lab's.
  def test_a_server_of_the_users_is_not_flushed
    Lab::Servers::Redis.run do |server|
      server.command("SET", "theirs", "precious")
      comparisons = %w[read miss fetch increment].map { |name| compare("mine=#{server.url}", operation: name) }
      cells = Lab::Engine::Measurement.new(comparisons, protocol: TINY, seed: 1).run
      assert_empty cells.reject(&:measured?).map(&:reason)
      assert_equal "precious", server.command("GET", "theirs")
      assert_equal "1", server.command("DBSIZE")
    end
  end
end
