# frozen_string_literal: true

require_relative "../../support/lab_case"

class LatencyCommandTest < LabCase
  class Short < Tiercel::Lab::Tables::Latency::Table
    called "latency", Tiercel::Lab::Tables::Latency::Table.summary

    def plan
      contestants = %w[null_store memory_store].map { |text| Tiercel::Lab::Contestants.parse(text) }
      value, operation = Tiercel::Lab::Values.fetch("string-100b"), Tiercel::Lab::Operations.fetch("read")
      [Tiercel::Lab::Engine::Comparison.of(value:, operation:, contestants:, baseline: contestants.last)]
    end

    def design
      super.with(megabits: [], iterations: 20, long_iterations: 100, long_seconds: 30, processes: 1, repeats: 2,
                 rates: [200.0, 1_000_000.0], load_seconds: 0.1)
    end

    def protocol = LabCase::TINY
  end

  def latency(*arguments, &) = run_command(Short, *arguments, &)

  def test_near_and_far_and_under_load
    skip "memcached is not installed" unless Lab::Servers::Memcached.installed?
    latency("--quick", "--store", "mem_cache_store", "--store", "memory_store", "--round-trips", "5") do |code, command|
      assert_equal 0, code, command.err.string
      assert_empty SCHEMA.errors(command.results)
      near, inside, far = command.results["tables"].first["rows"].values_at(0, 1, 2)
      assert_equal ["loopback", "in process", "+5 ms"], [near, inside, far].map { |row| row["place"] }
      assert(far["round_trips"].all? { |seconds| seconds >= 0.005 })
      # Two round trips in each iteration, of at least 5 ms each.
      assert(far["runs"].all? { |run| run["real"] / run["iterations"] >= 0.010 })
      assert(near["runs"].all? { |run| run["server"].positive? }) if File.directory?("/proc/self")
      assert_nil inside["runs"].first["server"]
      assert_equal 100, near["long"]["iterations"]
      assert_match(/^mem_cache_store, loopback .* measured +baseline/, command.out.string)
      loads = command.results["tables"][1]["rows"].group_by { |row| row["rate"] }
      assert_equal [%w[mem_cache_store memory_store]] * 2, loads.values.map { |rows| rows.map { |row| row["store"] } }
      assert_equal [true], loads[1_000_000.0].map { |row| row["unsent"].positive? || row["share"] < 0.99 }.uniq
      assert_match(/^mem_cache_store, loopback, 1,000,000\/s .* at least [\d.,]+ m?s/, command.out.string)
    end
  end

  def test_a_store_that_cannot_run_keeps_its_row
    latency("--quick", "--store", "memory_store", "--store", "planted_elsewhere", "--require",
            PLANTED) do |code, command|
      assert_equal 3, code, command.err.string
      row = command.results["tables"].first["rows"].last
      assert_equal ["planted_elsewhere", "cannot run", []], row.values_at("store", "status", "runs")
      assert_match(%r{^planted_elsewhere +in process +n/a \[1\]$}, command.out.string)
      assert_match(/^\[1\] cannot run: /, command.out.string)
    end
  end

  def test_what_makes_no_sense_is_refused
    complaints = {
      ["--bandwidth", "0"] => /> 0/, ["--round-trips", "-1"] => />= 0/, ["--iterations", "0"] => /> 0/,
      ["--arrivals", "bursts"] => /bursts/,
    }
    assert_refused(complaints) { |arguments, check| latency(*arguments, &check) }
  end
end
