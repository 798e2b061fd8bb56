# frozen_string_literal: true
# quick

require "test_helper"
require "tiercel/segment"

# The trust in a near tier's copies, derived from the coverage of its listeners.
class TiersCoverageTest < Tiercel::TestCase
  SECOND = 1_000_000_000
  FRAME = Tiercel::Frame.build(Tiercel::Frame::Layout::TYPE_STRING_UTF_8, "text" * 4_000)

  def setup
    @segment = open_segment
    @coverage = Tiercel::Tiers::Coverage.new(@segment)
    assert_equal 3.0, @coverage.trust
    @coverage.trust = 300 # which no busy machine exceeds
    @since = @coverage.now
  end

  def teardown
    @segment.close
  end

  def open_segment = Tiercel::Segment.open(File.join(dir, "segment"), bytes: 4 << 20)

  def fill(key = "key", segment: @segment)
    epoch = segment.near_epoch(key)
    epoch && segment.near_fill(key, FRAME, 60, epoch)
  end

  # Checks every kind of read that returns copies, including the memo and batches.
  def assert_read(key, segment = @segment)
    assert_equal FRAME, segment.get(key)
    assert_equal({ key => FRAME }, segment.get_multi([key]))
    assert_equal "text" * 4_000, segment.read(key)
    assert_equal "text" * 4_000, segment.read_frozen(key)
    assert_equal [key], segment.read_multi([key]).keys
  end

  def assert_not_read(key, token, segment = @segment)
    assert_nil segment.get(key)
    assert_equal({}, segment.get_multi([key] * 40))
    assert_nil segment.read(key)
    assert_nil segment.read_frozen(key)
    assert_equal({}, segment.read_multi([key]))
    assert_nil segment.get_with_token(key)
  end

  # Pretends that the last heartbeat was this long ago: its time is in the segment's header.
  def age(seconds)
    header = File.binread(@segment.path, 4096)
    at = (0...4096).step(8).find { |offset| header.unpack1("Q<", offset: offset) == @segment.near_covered }
    File.open(@segment.path, "r+b") do |file|
      file.pwrite([@segment.near_covered - (seconds * SECOND).to_i].pack("Q<"), at)
    end
  end

  def test_nothing_is_read_or_filled_before_a_listener_has_covered_it
    refute @coverage.trusted?
    assert_nil @segment.near_epoch("key")
    assert_equal false, @coverage.cover(@since, @coverage.now)
    assert @coverage.trusted?
    assert fill
    @segment.memo_bytes = 16 << 20
    3.times { assert_read("key") }
  end

  def test_what_asks_for_no_trust
    @coverage.cover(@since, @coverage.now)
    fill
    token = @segment.get_with_token("key").last
    age(350)
    assert_not_read("key", token)
    assert_equal [FRAME, [FRAME, token]], [@segment.get("key", true), @segment.get_with_token("key", true)]
    assert_equal [nil, nil], [@segment.get("other", true), @segment.get_with_token("other", true)]
    assert_nil @segment.near_epoch("key")
    assert_kind_of Integer, @segment.near_epoch("key", true)
    begun = @segment.near_begin(["key"])
    assert_nil @segment.near_epoch("key", true)
    @segment.near_end(["key"], begun, false)
    [[], ["key", true, 1]].each { |wrong| assert_raises(ArgumentError) { @segment.near_epoch(*wrong) } }
    assert_raises(TypeError) { @segment.near_epoch(:key, true) }
  end

  def test_copies_are_trusted_for_three_seconds_after_the_sending_of_the_last_heartbeat
    @coverage.cover(@since, @coverage.now)
    @segment.memo_bytes = 16 << 20
    fill
    3.times { assert_read("key") }
    token = @segment.get_with_token("key").last
    epoch = @segment.near_epoch("other")
    begun = @segment.near_begin(["other"])
    age(250)
    assert_read("key")
    age(60)
    assert_not_read("key", token)
    refute @coverage.trusted?
    assert_nil @segment.near_epoch("key")
    assert_equal false, @segment.near_fill("other", FRAME, 60, epoch)
    assert_equal false, @segment.near_fill("other", FRAME, 60, begun)
    # The listener received everything; only its echo was late.
    age(-310)
    assert_equal true, @coverage.cover(@since, @coverage.now)
    assert_read("key")
  end

  def test_a_listener_that_began_after_the_covered_time_puts_all_copies_away
    @coverage.cover(@since, sent = @coverage.now)
    fill
    late = @segment.near_epoch("late")
    assert_equal false, @coverage.cover(sent + 1, @coverage.now)
    assert_nil @segment.get("key")
    assert_equal false, @segment.near_fill("late", FRAME, 60, late)
    assert fill("late")
    assert_equal 2, @coverage.stats[:gaps]
  end

  # Such a process reads copies until they expire. No process with a bus has listened for ten seconds.
  def test_a_process_without_a_bus_deletes_the_copies_of_a_coverage_that_ended
    other = open_segment
    @coverage.cover(@since, @coverage.now)
    fill
    without_bus = Tiercel::Tiers::Coverage.new(other, recorded: true)
    [[5, FRAME], [6, nil]].each do |seconds, copy|
      age(seconds)
      assert without_bus.arm
      assert_equal [copy, !copy.nil?], [other.get("key", true), without_bus.covered.positive?]
    end
  ensure
    other&.close
  end

  def test_what_several_listeners_have_heard_of_adds_up
    @coverage.cover(@since, @coverage.now)
    fill
    other = open_segment
    second = Tiercel::Tiers::Coverage.new(other).tap { |coverage| coverage.trust = 300 }
    began = second.now
    @coverage.cover(@since, @coverage.now)
    assert_equal true, second.cover(began, last = second.now)
    assert_equal true, @coverage.cover(@since, last - 10) # an older echo changes nothing
    assert_equal last, @segment.near_covered
    assert_read("key", other)
  ensure
    other&.close
  end

  def test_a_listener_of_another_server_puts_all_copies_away
    @coverage.cover(@since, @coverage.now, 7)
    fill
    assert_equal [false, nil], [@coverage.cover(@since, @coverage.now, 8), @segment.get("key")]
  end

  def test_an_echo_of_before_the_listener_and_one_of_the_time_to_come_say_nothing
    assert_equal [nil, nil], [@coverage.cover(@coverage.now, @since), @coverage.cover(0, 1, 7)]
    assert_equal 0, @segment.near_covered
    @coverage.cover(@since, @coverage.now + (3600 * SECOND))
    assert_operator @segment.near_covered, :<=, @coverage.now
    # A file that another program has altered does not count as covered either.
    age(-3600)
    refute @coverage.trusted?
    refute @segment.near_trusted?
    assert_equal 0, @segment.near_covered
    assert_equal false, @coverage.cover(@since, @coverage.now)
    assert @segment.near_trusted?
  end
end
