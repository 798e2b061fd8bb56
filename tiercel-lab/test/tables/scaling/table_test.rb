# frozen_string_literal: true

require_relative "../../support/lab_case"

class ScalingTest < LabCase
  class Short < Tiercel::Lab::Tables::Scaling::Table
    called "scaling", Tiercel::Lab::Tables::Scaling::Table.summary
    def rounds = 2
  end

  def test_every_work_is_measured_with_every_number_of_processes
    run_command(Short) do |code, command|
      assert_equal 0, code
      rows = command.results["tables"].find { |table| table["name"] == "throughput" }["rows"]
      assert_equal 4, rows.map { |row| row["work"] }.uniq.size
      assert(rows.all? { |row| row["per_second"].positive? })
      assert_equal [2], rows.group_by { |row| row.values_at("work", "processes") }.values.map(&:size).uniq
      assert_match(/read a shared segment at/, command.out.string)
    end
  end

  def results(rounds)
    rows = rounds.times.flat_map do |round|
      ["loop on private memory", "shared: get", "private set", "shared: set"].product([1, 2]).map do |work, processes|
        { "round" => round, "work" => work, "processes" => processes, "per_second" => 1e6 * processes }
      end
    end
    { "run" => { "seed" => 1, "protocol" => {} }, "cells" => [],
      "tables" => [{ "name" => "throughput", "rows" => rows, "notes" => { "processes" => [1, 2] } }] }
  end

  def test_intervals_of_two_rounds_are_called_a_range
    words = [2, 8].map { |rounds| Lab::Tables::Scaling::View.new(results(rounds), command: "bin/lab scaling").subtitle }
    assert_match(/\A2 rounds of fresh processes, .*; the range of 2 rounds\z/, words[0])
    assert_match(/\A8 rounds of fresh processes, .*; 95 % intervals\z/, words[1])
  end

  def test_growth_is_paired_with_the_controls_of_its_round
    rows = [0, 1, 2].flat_map do |round|
      base = 100.0 * (round + 1)
      [["loop on private memory", 1, base], ["loop on private memory", 2, base * 2],
       ["shared: get", 1, base * 3], ["shared: get", 2, base * 5.4]].map do |work, processes, rate|
        { "round" => round, "work" => work, "processes" => processes, "per_second" => rate }
      end
    end
    results = { "run" => { "seed" => 1, "protocol" => {} }, "cells" => [],
                "tables" => [{ "name" => "throughput", "rows" => rows, "notes" => { "processes" => [1, 2] } }] }
    relative = Lab::Tables::Scaling::View.new(results, command: "bin/lab scaling").relative("shared: get")
    assert_in_delta 0.9, relative.estimate, 1e-9
    assert_in_delta 0.9, relative.low, 1e-9
  end
end
