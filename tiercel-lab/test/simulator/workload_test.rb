# frozen_string_literal: true

require "test_helper"
require "tiercel/lab/simulator"

class SimulatorWorkloadTest < Tiercel::TestCase
  Simulator = Tiercel::Lab::Simulator

  def workload(**) = Simulator::Workload.new(keys: 500, requests: 20_000, **)

  def test_the_same_seed_gives_the_same_requests_and_another_one_others
    Simulator::Workloads::ALL.each do |named|
      small = named.with(keys: 300, requests: 2_000)
      assert_equal small.trace("1").to_a, small.trace("1").to_a, named.name
      refute_equal small.trace("1").to_a, small.trace("2").to_a, named.name
    end
  end

  # Digests of published traces: a change of the generator must not change them unnoticed.
  def test_a_golden_trace
    trace = Simulator::Workload.new(keys: 20, requests: 8, overwrites: 0.3, deletes: 0.1, value_bytes: 100..10_000,
      ttl: 1.0..100.0).trace("golden")
    golden = trace.map { |request| [request.key[-2..], request.bytes, request.op, request.ttl&.round(2)] }
    assert_equal GOLDEN, golden
  end

  GOLDEN = [
    ["14", 9564, :read, 2.45], ["14", 9564, :read, 2.45], ["14", 8608, :write, 2.45], ["01", 0, :delete, nil],
    ["12", 2196, :write, nil], ["14", 8608, :read, 2.45], ["11", 1986, :read, 2.92], ["14", 10_000, :write, 2.45],
  ].freeze

  def test_shares_of_operations
    counts = workload(overwrites: 0.3, deletes: 0.05).trace("1").map(&:op).tally
    assert_in_delta 0.30, counts[:write] / 20_000.0, 0.015
    assert_in_delta 0.05, counts[:delete] / 20_000.0, 0.01
  end

  def test_sizes_are_log_uniform_and_one_for_each_key
    sizes = workload(value_bytes: 100..65_536).trace("1").group_by(&:key).transform_values do |all|
      all.map(&:bytes).uniq
    end
    assert(sizes.values.all?(&:one?))
    all = sizes.values.flatten
    assert_operator all.min, :>=, 100
    assert_operator all.max, :<=, 65_536
    assert_in_delta Math.sqrt(100 * 65_536), all.sort[all.size / 2], 1_000, "the median is the geometric middle"
  end

  def test_reads_after_an_overwrite_ask_for_the_new_size
    current = {}
    seen = 0
    workload(value_bytes: 100..65_536, overwrites: 0.3).trace("1").each do |request|
      if request.op == :write
        seen += 1 if current.key?(request.key) && current[request.key] != request.bytes
        current[request.key] = request.bytes
      else
        assert_equal current.fetch(request.key, request.bytes), request.bytes
      end
    end
    assert_operator seen, :>, 3_000
  end

  def test_ttls_are_in_their_range_and_missing_for_a_fifth_of_the_keys
    ttls = workload(s: 0, ttl: 60.0..600.0).trace("1").map { |request| [request.key, request.ttl] }.uniq.map(&:last)
    assert_equal 500, ttls.size
    assert_in_delta 0.2, ttls.count(nil) / 500.0, 0.06
    assert(ttls.compact.all? { |ttl| ttl.between?(60.0, 600.0) })
  end

  def test_scans_take_their_share_and_go_key_by_key
    trace = workload(s: 1.2, scans: 0.3, scan_keys: 0.1).trace("1").map { |request| request.key[/\d+/].to_i }
    steps = trace.each_cons(2).count { |first, second| second == (first + 1) % 500 }
    assert_in_delta 0.3, steps / 20_000.0, 0.06
  end

  def test_shifting_moves_popularity
    trace = workload(s: 1.2, shift_every: 10_000, shift_by: 0.5).trace("1").map(&:key)
    before, after = trace.each_slice(10_000).map { |part| part.tally.max_by(&:last).first }
    refute_equal before, after
    still = workload(s: 1.2).trace("1").map(&:key)
    assert_equal still.first(10_000), trace.first(10_000), "the keys before the shift are the same"
  end

  def test_ttls_and_sizes_leave_the_keys_as_they_are
    plain = workload.trace("1").map(&:key)
    assert_equal plain, workload(ttl: 1.0..9.0, value_bytes: 1..99).trace("1").map(&:key)
  end

  def test_the_trace_knows_its_time_and_its_footprint
    trace = workload(requests: 1_000, duration: 50.0, value_bytes: 10).trace("1")
    assert_in_delta 0.05, trace.seconds_per_request
    keys = trace.map(&:key).uniq
    assert_equal keys.size * 10, trace.footprint_bytes
    assert_equal keys.size, trace.footprint_bytes(weigher: Simulator::Weigher::ENTRY)
    refute_predicate trace, :ttls?
    assert_predicate workload(ttl: 1.0..2.0).trace("1"), :ttls?
  end

  def test_unknown_names_are_refused
    assert_match(/:sizee.*value_bytes/, assert_raises(ArgumentError) { workload(sizee: 3) }.message)
    assert_match(/"zipf".*zipf-1.0/, assert_raises(ArgumentError) { Simulator::Workloads.fetch("zipf") }.message)
  end
end
