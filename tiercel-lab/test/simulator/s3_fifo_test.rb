# frozen_string_literal: true

require "test_helper"
require "tiercel/lab/simulator"

class SimulatorS3FIFOTest < Tiercel::TestCase
  Simulator = Tiercel::Lab::Simulator

  def build(capacity = 10, **) = Simulator::POLICIES.fetch(:s3_fifo).new(capacity, **)

  def request(policy, *keys) = keys.map { |key| policy.get(key).tap { |hit| policy.set(key, 1) unless hit } }

  def keys(policy, queue) = policy.queues.fetch(queue).fetch(:keys)

  # Capacity 10 with sizes of 1: small has room for 1, main for 9.
  def test_newcomers_fill_small_and_go_to_the_ghost
    policy = build
    request(policy, *"a".."j")
    assert_equal ("a".."j").to_a, keys(policy, :small)
    request(policy, "k")
    assert_equal ("b".."k").to_a, keys(policy, :small)
    assert_equal %w[a], keys(policy, :ghost)
    assert_empty keys(policy, :main)
  end

  def test_one_hit_promotes_with_its_hits_cleared_and_the_next_one_goes
    policy = build
    request(policy, *"a".."j")
    assert_equal [true], request(policy, "a")
    request(policy, "k") # a is promoted, b dropped
    assert_equal %w[a], keys(policy, :main)
    assert_equal %w[b], keys(policy, :ghost)
    assert_equal %w[c d e f g h i j k], keys(policy, :small)
    assert_equal 1, policy.evictions
  end

  def test_a_key_that_the_ghost_remembers_enters_main
    policy = build
    request(policy, *"a".."k")
    assert_equal [false], request(policy, "a")
    assert_equal %w[a], keys(policy, :main)
    assert_equal %w[b], keys(policy, :ghost), "a is forgotten, b was dropped for it"
    assert_equal ("c".."k").to_a, keys(policy, :small)
  end

  def test_two_hits_are_asked_for_where_the_policy_says_so
    policy = Simulator::POLICIES.fetch(:s3_fifo_2).new(10)
    request(policy, *"a".."j")
    request(policy, "a", "b", "b")
    request(policy, "k") # a had one hit: dropped
    assert_equal %w[a], keys(policy, :ghost)
    request(policy, "l") # b had two: promoted; c dropped
    assert_equal %w[b], keys(policy, :main)
    assert_equal %w[a c], keys(policy, :ghost)
  end

  def test_main_gives_a_second_chance_for_each_hit
    policy = build
    # Ten entries are promoted one after the other. Main has room for 9, so the tenth evicts the oldest.
    request(policy, *"a".."j", *"a".."j")
    request(policy, "k")
    # All ten had one hit: nine fit into main, the tenth promotion evicts a from main, then small holds nothing.
    assert_equal ("b".."j").to_a, keys(policy, :main)
    assert_equal %w[k], keys(policy, :small)
    request(policy, "b", "b", "c") # b: two hits, c: one
    request(policy, "k")           # a hit in small
    request(policy, "l")           # k is promoted: b and c go round, d is evicted
    assert_equal %w[e f g h i j k b c], keys(policy, :main).rotate(keys(policy, :main).index("e"))
    refute policy.holds?("d")
    assert_empty keys(policy, :ghost), "what main evicts is not remembered"
  end

  def test_hits_are_counted_up_to_three
    policy = build(20) # small 2, main 18
    request(policy, "x", *("a".."s"))
    request(policy, "x")
    request(policy, "t") # x is promoted, a dropped
    20.times { request(policy, "x") }
    # Keys that are read twice go through small into main. They move x through main, which goes round once for each hit
    # that it has.
    rounds = (0..200).find do |index|
      request(policy, "n#{index}", "n#{index}")
      !policy.holds?("x")
    end
    # Main has 18 places: x goes round four times (three hits, then eviction), not twenty-one times.
    assert_includes 54..90, rounds
  end

  def test_queues_and_sizes_always_agree
    [build(1_000), Simulator::POLICIES.fetch(:s3_fifo_2).new(1_000)].each do |policy|
      random = Random.new(3)
      5_000.times do |step|
        key = random.rand(200).to_s
        case random.rand(10)
        when 0 then policy.delete(key)
        when 1 then policy.set(key, random.rand(1..90))
        else policy.get(key) || policy.set(key, random.rand(1..90))
        end
        check_queues(policy, step)
      end
    end
  end

  def check_queues(policy, step)
    queues = policy.queues
    small, main, ghost = queues.values_at(:small, :main, :ghost)
    assert_equal policy.used, small[:bytes] + main[:bytes], "step #{step}"
    assert_equal policy.keys.sort, (small[:keys] + main[:keys]).sort, "step #{step}: each key in one queue"
    assert_empty ghost[:keys] & policy.keys, "step #{step}: the ghost remembers only what is gone"
    assert_operator ghost[:bytes], :<=, policy.main_capacity
    assert_operator policy.used, :<=, policy.capacity
  end

  # On a workload with one-hit wonders the policy is better than LRU and FIFO, as the literature found.
  def test_it_beats_lru_and_fifo_on_zipf_with_scans
    trace = Simulator::Workloads.fetch("scans").with(keys: 5_000, requests: 60_000).trace("s3")
    ratios = %i[fifo lru s3_fifo].to_h do |name|
      policy = Simulator::POLICIES.fetch(name).new(trace.footprint_bytes / 10)
      [name, Simulator::Replay.run(trace, policy).hit_ratio]
    end
    assert_operator ratios[:s3_fifo], :>, ratios[:lru] + 0.02
    assert_operator ratios[:lru], :>, ratios[:fifo]
  end
end
