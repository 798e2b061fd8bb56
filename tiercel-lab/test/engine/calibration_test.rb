# frozen_string_literal: true

require_relative "../support/lab_case"

class CalibrationTest < LabCase
  # A clock that advances only while an arm runs.
  class Clock
    attr_accessor :us

    def initialize = @us = 0

    def seconds = @us / 1e6

    def time
      before = @us
      yield
      ns = (@us - before) * 1_000
      [ns, 0, ns, 0]
    end
  end

  # An arm whose calls have a fixed time, and sometimes a much longer one.
  class BusyArm
    Contestant = Struct.new(:clock, :medium, :tiers)
    Operation = Struct.new(:prepared) do
      def prepared? = prepared
      def clock = nil

      def most_calls(value)
        operation = LabCase::Lab::Operation
        prepared ? operation.prepared_calls(value) : operation::UNBOUNDED_CALLS
      end
    end
    attr_reader :runs, :clock

    # @param settled_us [Integer] the time of a call once every name was called twice
    def initialize(us, settled_us: us, hiccup_every: nil, medium: :process, prepared: false, tiers: [])
      @tiers = tiers
      @settled_us = settled_us
      @us = us
      @hiccup_every = hiccup_every
      @medium = medium
      @prepared = prepared
      @runs = []
      @clock = Clock.new
    end

    def contestant = Contestant.new(@medium == :process ? :cpu : :wall, @medium, @tiers)

    def count = 2_000

    def operation
      Operation.new(@prepared).tap { |operation| operation.define_singleton_method(:before_slice) { |*| nil } }
    end

    def run(calls)
      @runs << calls
      @us = @settled_us if @runs.sum > 2 * count
      @clock.us += (@us * calls) + (@hiccup_every && (@runs.size % @hiccup_every).zero? ? 30_000 : 0)
    end
  end

  def calibration(arm, slice_ns: 12_000_000)
    Lab::Engine::Calibration.new(arm, slice_ns:, value: Lab::Values.fetch("string-1kb"), stopwatch: arm.clock)
  end

  def test_a_slice_takes_what_it_shall
    assert_equal 120, calibration(BusyArm.new(100)).calls
  end

  def test_a_store_that_becomes_faster_with_use_is_calibrated_afterwards
    assert_equal 12_000, calibration(BusyArm.new(20, settled_us: 1)).calls
    slow = BusyArm.new(100_000, settled_us: 1)
    assert_equal 1, calibration(slow).calls
    assert_operator slow.runs.sum, :<, 5
  end

  def test_an_interrupted_probe_does_not_shorten_all_slices
    assert_equal 120, calibration(BusyArm.new(100, hiccup_every: 3)).calls
  end

  def test_a_socket_has_its_least_number_of_calls
    assert_equal 50, calibration(BusyArm.new(600, medium: :loopback)).calls
    assert_equal 10, calibration(BusyArm.new(6_000, medium: :loopback)).calls # SLICE_MOST_NS
  end

  def test_prepared_operations_have_a_limit
    assert_equal Lab::Operation::PREPARED_CALLS, calibration(BusyArm.new(1, prepared: true)).calls
  end

  def test_warm_up_is_a_fixed_number_unless_it_takes_too_long
    quick = BusyArm.new(10)
    assert_equal Lab::Engine::Protocol::WARM_UP_CALLS, calibration(quick).warm_up(nil)
    slow = BusyArm.new(60_000)
    assert_equal Lab::Engine::Protocol::WARM_UP_LEAST, calibration(slow).warm_up(nil)
    again = BusyArm.new(10)
    assert_equal 7, calibration(again).warm_up(7)
    assert_equal [1] * 7, again.runs
  end

  def test_reads_of_tiers_are_warm_once_all_keys_have_been_read
    assert_equal Lab::Engine::Protocol::WARM_UP_CALLS, calibration(BusyArm.new(10, tiers: ["shared:"])).warm_up(nil)
    slow = BusyArm.new(10_000, tiers: ["shared:", "redis:"])
    assert_equal 2 * slow.count, calibration(slow).warm_up(nil)
  end
end
