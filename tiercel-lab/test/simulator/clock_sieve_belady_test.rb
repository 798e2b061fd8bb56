# frozen_string_literal: true

require "test_helper"
require "tiercel/lab/simulator"

class SimulatorClockSieveBeladyTest < Tiercel::TestCase
  Simulator = Tiercel::Lab::Simulator
  Request = Simulator::Request

  def build(name, capacity) = Simulator::POLICIES.fetch(name).new(capacity)

  def request(policy, *keys) = keys.map { |key| policy.get(key).tap { |hit| policy.set(key, 1) unless hit } }

  def test_clock_gives_what_was_read_a_second_chance
    policy = build(:clock, 3)
    request(policy, "a", "b", "c", "a")
    request(policy, "d") # a goes round, b goes
    assert_equal %w[c a d], policy.keys
    request(policy, "e") # c
    request(policy, "f") # a: its chance is used up
    assert_equal %w[d e f], policy.keys
  end

  def test_sieve_leaves_what_stays_where_it_is
    policy = build(:sieve, 3)
    request(policy, "a", "b", "c", "a")
    request(policy, "d") # the hand clears a, evicts b, and stands at c
    assert_equal %w[a c d], policy.keys
    request(policy, "e") # c
    request(policy, "f") # d: a is the oldest and has no mark, but the hand is past it
    assert_equal %w[a e f], policy.keys
    request(policy, "e", "f")
    request(policy, "g") # e and f are cleared; behind the newest the hand begins at the oldest again
    assert_equal %w[e f g], policy.keys
  end

  def test_a_deleted_entry_under_the_hand_moves_it_on
    policy = build(:sieve, 3)
    request(policy, "a", "b", "c", "a")
    request(policy, "d") # a is cleared, b evicted: the hand is at c
    assert policy.delete("c")
    request(policy, "e", "f") # room for e; then the hand is at d
    assert_equal %w[a e f], policy.keys
    %w[a e f].each { |key| assert policy.delete(key) }
    assert_equal [0, 0], [policy.used, policy.size]
    request(policy, "x", "y", "z", "w")
    assert_equal %w[y z w], policy.keys
  end

  # The smallest number of misses of any demand-filled cache, found by trying every eviction.
  def fewest_misses(keys, capacity, held = [].freeze, seen = {})
    return 0 if keys.empty?
    seen[[keys.size, held]] ||= begin
      key, *rest = keys
      if held.include?(key) then fewest_misses(rest, capacity, held, seen)
      elsif held.size < capacity then 1 + fewest_misses(rest, capacity, (held + [key]).sort, seen)
      else 1 + held.map { |out| fewest_misses(rest, capacity, (held - [out] + [key]).sort, seen) }.min
      end
    end
  end

  def test_belady_has_the_fewest_misses_there_can_be
    25.times do |seed|
      random = Random.new(seed)
      keys = Array.new(24) { random.rand(7).to_s }
      trace = Simulator::Trace.new(keys.map { |key| Request.read(key, 1) })
      misses = Simulator::Replay.run(trace, build(:belady, 3)).misses
      assert_equal fewest_misses(keys, 3), misses, "seed #{seed}: #{keys.join}"
    end
  end

  def test_no_policy_beats_belady
    %w[zipf-1.0 scans].each do |name|
      trace = Simulator::Workloads.fetch(name).with(keys: 2_000, requests: 20_000).trace("1")
      ratios = Simulator::POLICIES.names.to_h do |policy|
        [policy, Simulator::Replay.run(trace, build(policy, trace.footprint_bytes / 10)).hit_ratio]
      end
      best = ratios.delete(:belady)
      ratios.each { |policy, ratio| assert_operator ratio, :<, best, "#{policy} on #{name}" }
      assert_operator ratios.fetch(:sieve), :>, ratios.fetch(:fifo), name
      assert_operator ratios.fetch(:clock), :>, ratios.fetch(:fifo), name
    end
  end

  def test_belady_with_sizes_overwrites_and_deletes_keeps_to_its_capacity
    trace = Simulator::Workload.new(keys: 300, requests: 6_000, value_bytes: 10..2_000, overwrites: 0.2, deletes: 0.05,
                                    ttl: 60.0..900.0).trace("1")
    policy = build(:belady, trace.footprint_bytes / 8)
    result = Simulator::Replay.run(trace, policy)
    assert_operator policy.used, :<=, policy.capacity
    assert_operator result.hit_ratio, :>, Simulator::Replay.run(trace, build(:lru, policy.capacity)).hit_ratio
  end

  def test_belady_without_a_trace_says_so
    assert_match(/prepare/, assert_raises(ArgumentError) { build(:belady, 3).set("a", 1) }.message)
  end
end
