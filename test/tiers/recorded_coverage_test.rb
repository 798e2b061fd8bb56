# frozen_string_literal: true
# quick

require "test_helper"
require "tiercel/segment"

# A process without its own bus, on a segment whose other processes have one.
class TiersRecordedCoverageTest < Tiercel::TestCase
  SECOND = 1_000_000_000
  FRAME = Tiercel::Frame.build(Tiercel::Frame::Layout::TYPE_STRING_UTF_8, "text" * 100)

  def setup
    @directory = Dir.mktmpdir
    @last = Tiercel::Backends::MemorySegment.build(nil, {})
    @with_bus = near(bus: true)
    @without = near(bus: false)
  end

  def teardown
    [@with_bus, @without].each(&:close)
    FileUtils.rm_rf(@directory)
  end

  def near(**)
    Tiercel::Tiers::Near.new(Tiercel::Backends::Shared.new(
                               Tiercel::Segment.open("#{@directory}/segment", bytes: 4 << 20)
                             ), **)
  end

  def segment(near) = near.backend.segment

  def read(near, key = "key") = near.get(key) || near.filled(key) { @last.get(key) }

  # A listener has received every change so far.
  def covered
    now = @with_bus.coverage.now
    @with_bus.coverage.cover(now, @with_bus.coverage.now)
  end

  # Moves the coverage back by so many seconds: its time is in the segment's header.
  def age(seconds)
    covered = segment(@with_bus).near_covered
    header = File.binread("#{@directory}/segment", 4096)
    at = (0...4096).step(8).find { |offset| header.unpack1("Q<", offset:) == covered }
    File.open("#{@directory}/segment", "r+b") do |file|
      file.pwrite([covered - (seconds * SECOND).to_i].pack("Q<"), at)
    end
  end

  def test_copies_of_before_are_read_only_while_they_are_covered
    @last.set("key", FRAME)
    covered
    read(@with_bus)
    assert_equal [FRAME, FRAME], [@with_bus.get("key"), @without.get("key")]
    @last.set("key", "new") # no process receives this change: the process with a bus is killed
    age(4)
    assert_nil @without.get("key")
    assert_equal "new", read(@without)
  end

  def test_a_segment_that_nobody_covers_any_more
    @last.set("key", FRAME)
    covered
    read(@with_bus)
    age(11)
    assert_equal FRAME, read(@without)
    assert_equal 0, segment(@without).near_covered
    assert_equal FRAME, @without.get("key") || read(@without) && @without.get("key")
    assert_nil @with_bus.get("key")
    assert_equal false, covered # a gap: all copies are discarded
    assert_nil @without.get("key")
  end

  def test_a_segment_that_nobody_has_covered
    @last.set("key", FRAME)
    read(@without)
    assert_equal FRAME, @without.get("key")
  end

  # A user without the permission for client tracking, together with processes that have it.
  def test_a_process_whose_bus_is_refused
    covered
    age(11)
    other = near(bus: true)
    other.trust_ttl
    @last.set("key", FRAME)
    read(other)
    assert_equal FRAME, other.get("key")
    covered
    read(@with_bus)
    age(4)
    assert_nil other.get("key")
  ensure
    other&.close
  end
end
