# frozen_string_literal: true

require_relative "../../support/lab_case"

class SwitchTableTest < LabCase
  Switch = Lab::Tables::Switch

  # No pair mixes CPU time and wall time, or a store in the process with one elsewhere.
  def test_the_stores_of_a_pair_have_the_same_clock
    Switch::PAIRS.each do |texts|
      one, other = texts.map { |text| Lab::Contestants.parse(text) }
      assert_equal one.clock, other.clock, texts.first
      refute_nil one.configuration
      refute_nil other.configuration
    end
  end

  def trial(pair, **numbers)
    Switch::Trial.new(Switch::Design.new(stores: Switch::PAIRS.assoc(pair), **numbers), seed: 1).tap do |trial|
      trial.run(progress)
    end
  end

  # Stores in four processes hold four copies; a segment holds one.
  def test_memory_of_the_workers
    skip "long tier" unless long?
    rows = trial("memory_store", workers: 4, entries: 6_000).rows.to_h { |row| [row["store"], row] }
    rows.each_value { |row| assert_equal "measured", row["status"], row["reason"] }
    assert_operator rows["memory_store"]["grown"], :>, 6_000 * 2_048 * 3
    assert_operator rows["memory_store"]["grown"], :>, rows["tiercel:shared:"]["grown"]
    rows.each_value { |row| assert_operator row["trimmed"], :<=, row["bytes"] * 1.05 }
  end

  # A server keeps the memory of deleted entries: the second store on one server grew it by -0.25 MB.
  def test_each_store_has_a_server_of_its_own
    skip "redis-server is not installed" unless Lab::Servers::Redis.installed?
    trial = trial("redis_cache_store", workers: 1, entries: 100)
    trial.rows.each { |row| assert_kind_of Integer, row["server_bytes"], row.inspect }
    assert_equal 2, trial.servers.map { |server| server["pid"] }.uniq.size
  end

  # The plan said 29 s, and left out the memory of the workers, which took two minutes.
  def test_the_plan_has_the_time_of_the_memory_too
    few, many = ["10", "100000"].map do |entries|
      lab("switch", "--plan", "--quick", "--entries", entries)[1][/^In all about (.*)\.$/, 1]
        .scan(/(\d+) (min|s)/).sum { |number, unit| number.to_i * (unit == "min" ? 60 : 1) }
    end
    assert_operator many, :>, few + 60
  end

  def test_a_run_of_one_pair
    run_table(Switch::Table, "--quick", "--budget", "0.001", "--from", "memory_store", "--workers", "2", "--entries",
              "200") do |code, command|
      assert_equal 0, code, command.out.string
      assert_match(/A read of 2 KB of HTML\. memory_store to shared:/, command.out.string)
      assert_match(/^memory_store +[\d.]+ MB +[\d.]+ MB +\u2212?[\d.]+ MB/, command.out.string)
      assert_match(/config\.cache_store = :tiercel_store, "shared:"/, command.out.string)
    end
  end
end
