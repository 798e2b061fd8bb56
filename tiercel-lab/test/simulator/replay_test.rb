# frozen_string_literal: true

require "test_helper"
require "tiercel/lab/simulator"

class SimulatorReplayTest < Tiercel::TestCase
  Simulator = Tiercel::Lab::Simulator
  Request = Simulator::Request

  # Keeps everything, with the time of Time.now; can be told to return wrong values.
  class Everything < Tiercel::Backend
    attr_accessor :spoil

    def initialize
      super
      @entries = {}
    end

    def get(key)
      bytes, ends_at = @entries[key]
      return if bytes.nil? || (ends_at && ends_at <= Tiercel::Clock.now)
      spoil ? spoil.call(bytes) : bytes
    end

    def set(key, bytes, ttl = nil)
      @entries[key] = [bytes, ttl && (Tiercel::Clock.now + ttl)]
      true
    end

    def delete(key) = !@entries.delete(key).nil?

    def stats = { entries: @entries.size, bytes: @entries.sum { |_, (bytes, _)| bytes.bytesize }, evictions: 0 }
  end

  def lru(capacity) = Simulator::POLICIES.fetch(:lru).new(capacity)

  def test_look_aside_by_hand
    requests = [Request.read("a", 1), Request.read("a", 1), Request.write("b", 1), Request.read("b", 1),
                Request.delete("a"), Request.read("a", 1), Request.read("c", 1), Request.read("b", 1)]
    result = Simulator::Replay.run(requests, lru(2))
    # a miss, a hit, b hit, a miss (deleted), c miss (evicts b), b miss
    assert_equal [6, 2, 1, 1, 0], [result.reads, result.hits, result.writes, result.deletes, result.refused]
    assert_in_delta 2.0 / 6, result.hit_ratio
    assert_equal 4, result.misses
    assert_equal 2, result.evictions
  end

  def test_warm_up_is_made_and_not_counted
    requests = Array.new(4) { Request.read("a", 1) }
    assert_equal [2, 2], Simulator::Replay.run(requests, lru(2), warm_up: 2).to_a.first(2)
    assert_equal [4, 3], Simulator::Replay.run(requests, lru(2)).to_a.first(2)
  end

  def test_refused_writes_and_no_reads
    result = Simulator::Replay.run([Request.write("a", 5)], lru(2))
    assert_equal 1, result.refused
    assert_nil result.hit_ratio
  end

  def test_an_unknown_operation
    error = assert_raises(ArgumentError) { Simulator::Replay.run([Request.new("a", 1, :peek)], lru(2)) }
    assert_match(/:peek.*:read, :write or :delete/, error.message)
  end

  def test_ttls_run_on_the_clock_of_the_trace_for_policies_and_backends_alike
    requests = [0, 1, 2, 3].map { Request.read("a", 10, 25) } # every 10 s: hit at 10 and 20, over at 30
    trace = Simulator::Trace.new(requests, seconds_per_request: 10)
    before = Time.now
    [lru(100), Everything.new].each { |target| assert_equal 2, Simulator::Replay.run(trace, target).hits, target.class }
    assert_in_delta before.to_f, Time.now.to_f, 5, "the clock is back"
    refute Simulator::VirtualClock.method_defined?(:now)
  end

  def test_a_backend_that_keeps_all_hits_as_often_as_a_policy_with_room_for_all
    trace = Simulator::Workload.new(keys: 200, requests: 5_000, value_bytes: 1..3_000, overwrites: 0.1, deletes: 0.1,
      ttl: 60.0..600.0).trace("1")
    expected = Simulator::Replay.run(trace, lru(1 << 30))
    actual = Simulator::Replay.run(trace, Everything.new)
    assert_equal expected.to_a, actual.to_a
    assert_operator expected.hit_ratio, :>, 0.5
  end

  def test_wrong_values_of_a_backend_are_counted
    requests = Array.new(5) { Request.read("a", 1_000) }
    wrong = ->(spoil) { Simulator::Replay.run(requests, Everything.new.tap { |backend| backend.spoil = spoil }).wrong }
    assert_equal 0, wrong.call(nil)
    assert_equal 4, wrong.call(->(bytes) { bytes.dup.tap { |copy| copy.setbyte(500, copy.getbyte(500) ^ 1) } })
    assert_equal 4, wrong.call(->(bytes) { bytes.byteslice(0, 999) })
  end

  def test_a_value_of_the_write_before_is_wrong
    old = nil
    backend = Everything.new
    backend.spoil = ->(bytes) { old ||= bytes }
    requests = [Request.write("a", 50), Request.read("a", 50), Request.write("a", 50), Request.read("a", 50)]
    assert_equal 1, Simulator::Replay.run(requests, backend).wrong
  end

  def test_values_larger_than_the_pool
    bytes = Simulator::BackendTarget::POOL_BYTES
    sizes = [0, 1, 8, 9, bytes - 1, bytes, bytes + 8, (3 * bytes) + 5]
    requests = sizes.each_with_index.flat_map do |size, index|
      [Request.write(index.to_s, size), Request.read(index.to_s, size)]
    end
    backend = Everything.new
    assert_equal [sizes.size, 0], Simulator::Replay.run(requests, backend).then { |result| [result.hits, result.wrong] }
    assert_equal sizes.sum, backend.stats[:bytes]
  end

  def test_a_replay_that_takes_too_long_says_so
    slow = Everything.new
    slow.spoil = ->(bytes) { sleep(0.001).then { bytes } }
    error = assert_raises(Tiercel::Lab::CannotRun) do
      Simulator::Replay.run(Array.new(2_000) { Request.read("a", 1) }, slow, within: 0.05)
    end
    assert_match(/over 0.05 s for \d+ of 2000 requests/, error.message)
    refute Simulator::VirtualClock.method_defined?(:now)
  end

  def test_the_virtual_clock_stands_and_cannot_be_nested
    Simulator::VirtualClock.run(1_000.0) do
      assert_equal Time.at(1_000.0), Time.now
      Simulator::VirtualClock.at = 1_001.5
      assert_in_delta 1_001.5, Tiercel::Clock.now
      assert_equal 0, Time.now(in: "+00:00").utc_offset
      assert_raises(ArgumentError) { Simulator::VirtualClock.run(5.0) { flunk } }
      assert_in_delta 1_001.5, Time.now.to_f
    end
  end
end
