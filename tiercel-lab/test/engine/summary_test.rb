# frozen_string_literal: true

require_relative "../support/lab_case"

# Summaries of blocks with known figures.
class SummaryTest < LabCase
  def summarize(protocol: Lab::Engine::Protocol::FULL, **figures)
    comparison = compare("memory_store", "null_store")
    cells = comparison.arms.map do |arm|
      cell_of(comparison, arm,
              Array.new(6) { |process| Array.new(8) { |block| figures.fetch(arm.role).call(process, block) } })
    end
    Lab::Engine::Summary.fill(cells, protocol:)
    cells.to_h { |cell| [cell.arm.role, cell.summary] }
  end

  def wobble(process, block) = ((process * 7) + (block * 3)) % 5

  # A store in this process is timed by its CPU time, a server's by the wall clock. Their ratio has one clock.
  def test_no_ratio_mixes_cpu_time_and_wall_time
    comparison = compare("memory_store", "redis_cache_store")
    cells = comparison.arms.map do |arm|
      cell_of(comparison, arm, Array.new(6) { |process| Array.new(8) { |block| 2_000 + wobble(process, block) } })
        .tap { |cell| cell.slices.map! { |slice| slice.with(cpu_ns: slice.ns / 2) } }
    end
    Lab::Engine::Summary.fill(cells, protocol: Lab::Engine::Protocol::FULL)
    near, far = %w[memory_store redis_cache_store].map { |name| cells.find { |cell| cell.arm.name == name }.summary }
    assert_in_delta 1_001, near.ns.estimate, 2
    assert_in_delta 2_002, far.ns.estimate, 3
    assert_in_delta 1.0, far.ratio.estimate, 0.01
  end

  # A 20 % slowdown beside a null arm that differs by 7.6 %: noise does not turn it into "same". A difference that the
  # floor may explain is no verdict, in a full run as in a quick one.
  def test_noise_widens_no_margin
    noisy = ->(process, block) { 1_000 + (80 * wobble(process, block)) }
    null = ->(process, block) { noisy.call(process + 1, block) }
    found = summarize(baseline: noisy, contestant: ->(*at) { 1.2 * noisy.call(*at) }, null:)
    assert_operator found[:contestant].floor, :>, 0.05
    assert_equal 0.02, found[:contestant].margin
    assert_equal 0.4, Lab::Engine::Protocol::QUICK.margin_for([:process], floor: 0.2)
    assert_equal :slower, found[:contestant].verdict
    below = summarize(baseline: noisy, contestant: ->(*at) { 1.04 * noisy.call(*at) }, null:)
    assert_equal :cannot_tell, below[:contestant].verdict
    unclear = summarize(baseline: noisy, null: noisy,
                        contestant: ->(process, block) { (1.0 + (0.04 * (process % 5))) * noisy.call(process, block) })
    assert_equal :cannot_tell, unclear[:contestant].verdict
    assert_operator unclear[:contestant].needs, :>, 6
  end

  # Median and mean must both not err, so each has half of the chance.
  def test_an_interval_has_half_of_the_chance_to_err
    slower = ->(process, _block) { 1_000 * (1 + (0.01 * process)) }
    found = summarize(baseline: ->(*) { 1_000 }, null: ->(*) { 1_000 }, contestant: slower)[:contestant]
    logs = Array.new(6) { |process| [Math.log(1 + (0.01 * process))] }
    assert_in_delta Lab::Statistics::MedianInterval.of(logs, alpha: 0.0125).exp.high, found.ratio.high, 1e-9
  end

  # The null arms of both media count, and a null arm of another time is a warning.
  def test_two_copies_of_the_same_code_that_are_told_apart
    { 1_200 => 1, 800 => 1, 1_001 => 0 }.each do |far, warnings|
      comparison = compare("memory_store", "redis_cache_store")
      cells = comparison.arms.map do |arm|
        ns = arm.role == :null && arm.contestant.medium == :loopback ? far : 1_000
        cell_of(comparison, arm, Array.new(6) { Array.new(8, ns) })
      end
      Lab::Engine::Summary.fill(cells, protocol: Lab::Engine::Protocol::FULL)
      assert_operator cells[1].summary.floor, :>, 0.15 * warnings, far
      said = Lab::Engine::Warnings.of([], cells, interrupted: false).grep(/were told apart \(\S+redis_cache_store\)/)
      assert_equal warnings, said.size, far
    end
  end

  def test_drift_that_both_share_is_no_difference
    found = summarize(baseline: ->(process, block) { 1_000 + (200 * block) + (500 * process) },
                      contestant: ->(process, block) { 1_010 + (202 * block) + (505 * process) },
                      null: ->(process, block) { 1_000 + (200 * block) + (500 * process) })
    assert_in_delta 1.01, found[:contestant].ratio.estimate, 0.001
    assert_equal :same, found[:contestant].verdict
  end

  def test_a_quick_run_neither_says_same_nor_less_than_a_tenth
    found = summarize(protocol: Lab::Engine::Protocol::QUICK, baseline: ->(*) { 1_000 }, contestant: ->(*) { 1_080 },
                      null: ->(*) { 1_000 })
    assert_equal :cannot_tell, found[:contestant].verdict
  end

  # A pause of 60 ms in every eighth block; a block has 10,000 calls of 4.7 us.
  def test_rare_pauses_are_uneven_with_their_size_and_frequency
    usual = ->(*at) { 4_700 + wobble(*at) }
    pausing = ->(process, block) { usual.call(process, block) + (((process + block) % 8).zero? ? 6_000 : 0) }
    found = summarize(baseline: usual, null: usual, contestant: pausing).fetch(:contestant)
    assert_equal :uneven, found.verdict
    assert_in_delta 1.0, found.ratio.estimate, 0.01
    assert_in_delta 1.0 + (6_000 / 4_700.0 / 8), found.mean_ratio.estimate, 0.01
    assert_equal [6, 48], [found.slow.blocks, found.slow.of]
    assert_in_delta 6_000, found.slow.ns, 10
  end

  # Collection happens in random blocks and belongs to all of them. Collection is no pause, and is not left out.
  def test_collection_counts_wherever_it_falls
    comparison = compare("memory_store", "null_store")
    cells = comparison.arms.map do |arm|
      cell_of(comparison, arm, Array.new(6) { Array.new(8, 1_000) }).tap do |cell|
        cell.slices.map! { |slice| collected(slice) } if arm.role == :contestant
      end
    end
    Lab::Engine::Summary.fill(cells, protocol: Lab::Engine::Protocol::FULL)
    found = cells.find { |cell| cell.arm.role == :contestant }.summary
    assert_equal [:slower, nil], [found.verdict, found.slow]
    assert_in_delta 1.5, found.ratio.estimate, 0.001
    assert_in_delta 1.5, found.mean_ratio.estimate, 0.001
    assert_in_delta 500, found.gc_ns
  end

  # 4 us of collection in every eighth block of one call.
  def collected(slice)
    return slice unless ((slice.process + slice.block) % 8).zero?
    slice.with(ns: slice.ns + 4_000, cpu_ns: slice.cpu_ns + 4_000, gc_ns: 4_000)
  end

  # Beside other programs, compilations took longer by the wall clock than a slice by its CPU time, and a quick run
  # failed with "FloatDomainError: Infinity".
  def test_no_slice_takes_no_time
    compilations = [[0, 0], [1, 60_000_000_000]].each
    Lab::Engine::Stopwatch.stub(:compilations, -> { compilations.next }) do
      ns, _gc_ns, cpu_ns, compiled = Lab::Engine::Stopwatch.time { nil }
      assert_equal [1, 1, 1], [ns, cpu_ns, compiled]
      assert_equal 1, Lab::Engine::Cell::Slice.new(0, 0, 0, 1, ns, 50, cpu_ns, compiled).own_ns(:cpu)
    end
  end

  # A sleeping store uses no CPU time. Waiting behind other programs is no cost of the store, by either clock.
  def test_waiting_of_its_own_accord_is_part_of_the_cost
    slice = Lab::Engine::Cell::Slice.new(process: 0, block: 0, position: 0, calls: 10, ns: 90, gc_ns: 0, cpu_ns: 40,
                                         compiled: 0, wait_ns: 20, delay_ns: 30)
    assert_equal [60, 60], [slice.cost_ns(:cpu), slice.cost_ns(:wall)]
    assert_equal 90, slice.with(delay_ns: nil).cost_ns(:wall), "a kernel that does not report it"
    assert_equal 40, slice.with(delay_ns: 70).cost_ns(:wall), "an idle server's own delay is no part of the call"
    assert_equal [0, 0, 0, 10, 90, 0, 40, 0, nil, 20, 30], slice.record
    assert_equal [0, 0, 0, 10, 90, 0, 40, 0], slice.with(wait_ns: nil, delay_ns: nil).record
  end

  # A cell's own null arm differs by 20 % by chance; the null arms of nine other comparisons do not.
  def test_null_arms_of_a_run_are_pooled
    groups = Array.new(10) do |number|
      comparison = compare("memory_store", "null_store")
      comparison.arms.map do |arm|
        wide = arm.role == :null ? (number.zero? ? 1_200 : 1_005) : 1_000
        cell_of(comparison, arm, Array.new(4) { |process| Array.new(5, process.even? ? wide : 1_000) })
      end
    end
    quick = Lab::Engine::Protocol::QUICK
    alone, pooled = [groups.first, groups.flatten].map do |run|
      Lab::Engine::Summary.fill(groups.first, protocol: quick, run:)
      groups.first.find { |cell| cell.arm.role == :contestant }.summary.floor
    end
    assert_operator alone, :>, 0.15
    assert_operator pooled, :<, 0.02
  end

  # The baseline continued with its undecided neighbour while the machine became slower.
  def test_medians_are_of_the_processes_that_all_arms_have
    comparison = compare("memory_store", "null_store", "tiercel:memory:")
    cells = comparison.arms.map do |arm|
      processes = arm.contestant.name == "null_store" ? 6 : 12
      cell_of(comparison, arm, Array.new(processes) { |process| Array.new(8, process < 6 ? 1_000 : 2_000) })
    end
    Lab::Engine::Summary.fill(cells, protocol: Lab::Engine::Protocol::FULL)
    assert_equal [1_000.0], cells.map { |cell| cell.summary.ns.estimate.round(6) }.uniq
    assert_equal [1_000.0], cells.map { |cell| cell.summary.mean_ns.estimate }.uniq
  end

  def test_processes_that_were_set_aside_are_in_no_figure_and_kept
    comparison = compare("memory_store", "null_store")
    cells = comparison.arms.map do |arm|
      cell_of(comparison, arm, Array.new(7) { |process| Array.new(8, process == 3 ? 9_000 : 1_000) })
    end
    cells.each { |cell| cell.aside = [3] }
    Lab::Engine::Summary.fill(cells, protocol: Lab::Engine::Protocol::FULL)
    assert_equal [1_000.0], cells.map { |cell| cell.summary.mean_ns.estimate }.uniq
    record = cells.last.record
    assert_equal [[3], 56], [record["aside"], record["slices"].size]
  end
end
