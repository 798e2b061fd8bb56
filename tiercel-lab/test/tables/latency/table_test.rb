# frozen_string_literal: true

require_relative "../../support/lab_case"

class LatencyCommandTest < LabCase
  class Short < Tiercel::Lab::Tables::Latency::Table
    called "latency", Tiercel::Lab::Tables::Latency::Table.summary

    def design
      super.with(iterations: 20, processes: 1)
    end

    def protocol = LabCase::TINY
  end

  def latency(*arguments, &) = run_command(Short, *arguments, &)

  def test_near_and_far
    skip "memcached is not installed" unless Lab::Servers::Memcached.installed?
    latency("--quick", "--store", "mem_cache_store", "--store", "memory_store", "--round-trips", "5") do |code, command|
      assert_equal 0, code, command.err.string
      assert_empty SCHEMA.errors(command.results)
      near, inside, far = command.results["tables"].first["rows"].values_at(0, 1, 2)
      assert_equal ["loopback", "in process", "+5 ms"], [near, inside, far].map { |row| row["place"] }
      assert(far["round_trips"].all? { |seconds| seconds >= 0.005 })
      # Two round trips in each iteration, of at least 5 ms each.
      assert(far["runs"].all? { |run| run["real"] / run["iterations"] >= 0.010 })
      assert_equal "none", command.document.own_tables.first.rows[1][2].to_s, inside.inspect
      assert_match(/^mem_cache_store +loopback .* baseline$/, command.out.string)
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

  # On c8fa7d5a 12.7 of 18.8 s were "81.6 %". Here the machine becomes slower, and the last process is interrupted.
  def test_a_percentage_agrees_with_the_times_beside_it
    rows = { 1.0 => 4, 0.675 => 3 }.map do |factor, processes|
      runs = [18.8, 9.0, 30.0, 99.0].first(processes).each_with_index.map do |real, process|
        { "process" => process, "iterations" => 1, "real" => real * factor }
      end
      { "status" => "measured", "runs" => runs }
    end
    baseline, row = Lab::Tables::Latency::LoopRow.of(rows)
    assert_in_delta row.per_iteration.estimate / baseline.per_iteration.estimate, row.ratio_to(baseline).estimate, 1e-6
  end

  def test_what_makes_no_sense_is_refused
    assert_refused(["latency", "--store", "redis_cache_store:redis://10.0.0.7:6379/0"] => /servers of the lab/,
                   ["latency", "--round-trips", "-1"] => />= 0/, ["latency", "--iterations", "0"] => /> 0/)
    named = Lab::Tables::Latency::Design.method(:named)
    assert_equal [1.0, 1.4, 57.0, nil], %w[Compose memcachier home 1.4].map(&named)
  end
end
