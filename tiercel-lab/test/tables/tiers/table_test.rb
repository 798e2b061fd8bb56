# frozen_string_literal: true

require_relative "../../support/lab_case"

class TiersCommandTest < LabCase
  Tiers = Tiercel::Lab::Tables::Tiers

  # Copies live for 0.2 s, so that the test need not wait for a second.
  class Short < Tiers::Table
    called "tiers", Tiers::Table.summary

    def design
      super.with(shares: [0.0, 0.5, 1.0], repeats: 1, slice_seconds: 0.002, changes: 8, gap_ms: 5.0, busy: [1],
                 burst: 40)
    end
  end

  def tiers(*arguments, &) = run_command(Short, "--quick", "--no-cells", *arguments, &)

  def table(command, name) = command.results["tables"].find { |one| one["name"] == name }["rows"]

  def assert_measured(command)
    check_results(command)
    %w[shares staleness bursts].each do |name|
      rows = table(command, name)
      assert_equal ["measured"], rows.map { |row| row["status"] }.uniq, rows.map { |row| row["reason"] }.inspect
    end
  end

  def test_two_machines_on_a_file
    tiers("--store", "tiercel:shared:?ttl=0.2 sqlite:") do |code, command|
      assert_equal 0, code, command.out.string + command.err.string
      assert_measured(command)
      shares = table(command, "shares").map { |row| [row["measured_ms"], row["shares"].keys.sort] }
      assert_equal [[nil, %w[0.0 0.5 1.0]]], shares
      ages = table(command, "staleness").map { |row| Tiers::Ages.new(row) }
      assert_equal ["1 busy thread", "idle"], ages.map(&:beside)
      assert_equal [8], ages.map { |age| age.seen_ms.size + age.unseen }.uniq
      assert_equal 0, ages.last.unseen
      assert_match(/^tiercel:shared:\?ttl=0.2 sqlite:, last tier alone +idle +8 /, command.out.string)
      assert_match(/<svg/, Lab::Report::Html.render(command.document))
    end
  end

  def test_a_server_is_put_at_a_distance
    skip "Redis is not installed" unless Lab::Servers::Redis.installed?
    tiers("--store", "tiercel:memory:?ttl=0.2 redis:", "--round-trips", "10", "--busy", "0") do |code, command|
      assert_equal 0, code, command.out.string + command.err.string
      assert_measured(command)
      far = table(command, "shares").first
      assert_operator far["measured_ms"], :>=, 10.0
      assert_operator far["shares"]["0.0"].first, :>=, 10_000.0
      assert_operator far["shares"]["1.0"].first, :<, far["shares"]["0.0"].first
      assert_equal 10.0, far["round_trip_ms"]
    end
  end

  # Another process observes the busy one, and an idle process may listen for it.
  def test_processes_of_the_machine_that_looks
    skip "Redis is not installed" unless Lab::Servers::Redis.installed?
    tiers("--store", "tiercel:shared: redis:", "--round-trips", "0") do |code, command|
      assert_equal 0, code, command.out.string + command.err.string
      assert_measured(command)
      ages = table(command, "staleness").map { |row| Tiers::Ages.new(row) }
      assert_equal ["1 busy thread", "1 busy thread, an idle process listens", "idle"], ages.map(&:beside)
      assert_equal [true, true, false], ages.map(&:looked_beside?)
      assert_equal [0], ages.map(&:unseen).uniq
      near = table(command, "shares").first["shares"].values_at("0.0", "1.0").map(&:first)
      assert_operator near.last, :<, near.first / 5, "all that is to be near is near from the first slice on"
      assert_match(/the busy process listens for its machine, and another process watches/, command.out.string)
    end
  end

  def test_hits_are_cells_of_four_parts
    stack = "tiercel:shared: sqlite:#checksum=false"
    run_command(Tiers::Table, "--quick", "--plan", "--store", stack) do |code, command|
      assert_equal 0, code, command.err.string
      assert_match(/^string-1kb-2000 +wall_read +4 .*near-alone, near-hit, far-hit, far-alone/, command.out.string)
    end
  end

  # A ratio of CPU time and wall time would depend on other programs more than on tiers.
  def test_a_hit_near_and_what_it_is_compared_with_are_timed_by_one_clock
    clocks = Tiers::Stack.new("shared: redis:").contestants.map do |text|
      comparison = compare(text, operation: "wall_read")
      Lab::Engine::Cell.new(comparison, comparison.arms.first).clock
    end
    assert_equal [:wall], clocks.uniq
    targets = Lab::Tables::Musts::Targets.all.select { |target| target.name.start_with?("tiers-1") }
    assert_equal [5, ["wall_read"]], [targets.size, targets.flat_map { |target| operations_of(target) }.uniq]
  end

  def operations_of(target) = [target.baseline, target.candidate].map(&:last)

  def test_what_has_no_tiers_is_refused
    complaints = {
      ["--store", "tiercel:shared:"] => /expected tiers, such as "tiercel:shared: redis:"/,
      ["--store", "memory_store"] => /expected tiers/, ["--store", "tiercel:redis: shared:"] => /can be a near tier/,
      ["--changes", "0.5"] => /whole number/, ["--round-trips", "-1"] => />= 0/,
    }
    assert_refused(complaints) { |arguments, check| tiers(*arguments, &check) }
  end
end
