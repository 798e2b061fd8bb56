# frozen_string_literal: true

require_relative "../support/lab_case"

# Runs of a quick form's cells whose arms are faked: each takes a fixed time of a moved clock.
class BudgetTest < LabCase
  Slice = Tiercel::Lab::Engine::Cell::Slice
  QUICK = Lab::Engine::Protocol::QUICK
  STORES = %w[memory_store file_store:tmpfs file_store:disk mem_cache_store redis_cache_store tiercel].freeze

  # A measurement whose rounds start no process: each open arm moves the clock and gets blocks of its store's time.
  class Faked < Tiercel::Lab::Engine::Measurement
    # @param arm_seconds [Float]
    # @param ns [#call] nanoseconds of a call, of an arm in a process
    def initialize(*, arm_seconds:, ns:, **)
      @now = 0.0
      @arm_seconds, @ns = arm_seconds, ns
      super(*, clock: -> { @now }, **)
    end

    attr_reader :now

    def make_round(process:, comparisons:, **)
      cells.each do |cell|
        next if cell.decided? || comparisons.none? { |comparison| comparison.equal?(cell.comparison) }
        @now += @arm_seconds
        @protocol.blocks.times do |block|
          ns = @ns.call(cell.arm, process) + block
          cpu_ns = cell.clock == :cpu ? ns : ns / 2
          cell.slices << Slice.new(process, block, 0, 1, ns, 0, cpu_ns, 0)
        end
      end
    end
  end

  def fake(arm_seconds, protocol: QUICK, ns: method(:time_of), **)
    comparisons = %w[html-2kb html-24kb rows-50].product(%w[read fetch miss write]).map do |value, operation|
      compare(*STORES, value:, operation:)
    end
    Faked.new(comparisons, protocol:, seed: 1, arm_seconds:, ns:, **).tap(&:run)
  end

  # The stores inside the process differ by little.
  def time_of(arm, _process) = { loopback: 90_000, disk: 30_000 }.fetch(arm.contestant.medium, 2_000 + arm.id)

  def processes(run)
    run.cells.group_by { |cell| cell.arm.contestant.medium }
       .transform_values { |cells| cells.map { |cell| cell.block_ns.size }.uniq.sort }
  end

  def test_a_run_that_fits_makes_all_its_processes
    run = fake(0.3)
    assert_equal [[4]], processes(run).values.uniq
    assert_empty run.cells.flat_map { |cell| cell.summary.flags }
  end

  def test_a_slower_machine_leaves_out_what_is_plain_already
    run = fake(0.45)
    assert_operator run.now, :<=, QUICK.budget_seconds
    assert_equal({ process: [4], disk: [2], loopback: [2] }, processes(run))
    redis = run.cells.select { |cell| cell.arm.name == "redis_cache_store" }
    assert_equal [[:slower, ["plain"]]], redis.map { |cell| [cell.summary.verdict, cell.summary.flags] }.uniq
    refute_includes run.cells.flat_map { |cell| cell.summary.flags }, "incomplete"
  end

  def test_no_machine_is_slow_enough_to_exceed_the_budget_but_by_the_first_processes
    [0.6, 0.9, 1.2, 5.0].each do |seconds|
      run = fake(seconds)
      first = run.cells.size * seconds
      assert_operator run.now, :<=, [QUICK.budget_seconds, first].max, seconds.to_s
      assert(run.cells.all?(&:measured?))
    end
  end

  # Of one store inside this process, every second process is a third slower.
  def test_what_is_undecided_says_that_it_has_fewer_processes
    ns = ->(arm, process) { arm.name == "tiercel" && process.odd? ? 2_900 : time_of(arm, process) }
    run = fake(0.9, ns:)
    flagged = run.cells.select { |cell| cell.summary.flags.include?("incomplete") }
    assert_includes flagged.map { |cell| cell.arm.name }, "tiercel"
    refute_includes flagged.map { |cell| cell.arm.name }, "redis_cache_store"
    words = [false, true].map { |interrupted| Lab::Engine::Warnings.of([], run.cells, interrupted:) }
    assert_equal [true, false], words.map { |all| all.include?("To end in time, some cells have fewer processes.") }
  end

  # The shown percentage does not stop short if rounds are left out, nor exceed the whole.
  def test_the_progress_counts_what_is_left_out_as_done
    done = 0.0
    progress = Object.new
    progress.define_singleton_method(:advance) { |seconds, _what| done += seconds }
    progress.define_singleton_method(:expect) { |_seconds| raise "nothing is added to a plan of one analysis" }
    run = fake(5.0, progress:)
    planned = run.cells.map(&:comparison).uniq.sum { |one| one.expected_seconds(QUICK, processes: 3) }
    assert_in_delta planned, done, 0.01, "the faked rounds themselves do not advance"
  end

  # The first arm of a busy machine can take ten times as long as planned.
  def test_the_remaining_time_that_is_shown_is_within_the_budget
    progress = Lab::CLI::Progress.new(StringIO.new, expected_seconds: 1e9)
    progress.limit = 150
    progress.advance(1e-9, "html-2kb/read")
    assert_operator progress.left, :<=, 150
  end
end
