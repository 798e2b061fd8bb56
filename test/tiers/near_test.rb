# frozen_string_literal: true
# quick

require "test_helper"
require "support/near_tier"

# A near tier over a segment: no change in the farther tiers leaves a stale copy.
class TiersNearTest < Tiercel::TestCase
  include NearTier

  def test_a_write_leaves_a_copy_and_a_read_brings_one
    assert_equal true, write("one")
    assert_equal frame("one"), @near.get("key")
    @behind.set("other", frame("two"))
    assert_equal frame("two"), read(key: "other")
    assert_equal frame("two"), @near.get("other")
  end

  # The message about the write would delete the copy.
  def test_with_messages_a_write_leaves_no_copy
    followed = 0
    with_bus(messages?: true, before_change: -> { followed += 1 })
    now = @near.coverage.now
    @near.coverage.cover(now, now) # from now on a copy could be made
    write("one")
    assert_nil @near.backend.segment.get("key", true)
    assert_equal 1, followed, "the connections of a process that only writes follow the listeners too"
    @near.trust_ttl
    write("one")
    assert_equal frame("one"), @near.get("key")
  end

  def test_no_copy_of_what_was_not_stored
    assert_equal false, @near.change(["key"], frame("one"), nil) { false }
    assert_equal [Object], @near.change(["key"], frame("one"), nil) { [Object] }
    assert_nil @near.get("key")
  end

  def test_a_late_fill_loses_against_a_write_and_a_delete
    @behind.set("key", frame("old"))
    read = @near.filled("key") do
      held_up = @behind.get("key")
      write("new")
      held_up
    end
    assert_equal frame("old"), read
    assert_equal frame("new"), @near.get("key")

    @near.filled("key") do
      held_up = @behind.get("key")
      @near.change(["key"]) { @behind.bytes.delete("key") }
      held_up
    end
    assert_nil @near.get("key")
  end

  def test_a_read_in_the_midst_of_a_write_fills_nothing
    @behind.set("key", frame("old"))
    read
    write("new") do
      assert_nil @near.get("key")
      assert_equal frame("old"), read
      assert_nil @near.get("key")
    end
    assert_equal frame("new"), @near.get("key")
  end

  def test_of_two_writers_at_once_neither_leaves_a_copy
    write("one") do
      write("two")
      assert_nil @near.get("key")
    end
    assert_nil @near.get("key")
    assert_equal frame("one"), read
    assert_equal frame("one"), @near.get("key")
  end

  def test_a_late_fill_loses_against_a_clear
    @behind.set("a key", frame("old"))
    [nil, "a "].each do |prefix|
      @near.filled("a key") do
        held_up = @behind.get("a key")
        @near.clear(prefix) { nil }
        held_up
      end
      assert_nil @near.get("a key")
      read(key: "a key")
      @near.clear(prefix) { assert_nil(@near.get("a key")) && read(key: "a key") }
      assert_nil @near.get("a key")
      # During a long clear the stripe forgets the writer, and a reader makes a copy.
      @near.clear(prefix) { @near.backend.set("a key", frame("old")) }
      assert_nil @near.get("a key")
    end
  end

  # The change may still arrive, so the key is not filled until the writer is forgotten. Other keys' copies stay.
  def test_a_change_that_ended_in_doubt_is_not_over
    @behind.set("key", frame("old"))
    write("other's", key: "other")
    read
    assert_raises(Tiercel::TimedOut) { @near.change(["key"]) { raise Tiercel::TimedOut } }
    assert_equal frame("old"), read
    @behind.set("key", frame("arrived late"))
    assert_equal frame("arrived late"), read
    assert_equal frame("other's"), @near.get("other")
  end

  def test_an_interrupted_change_is_not_over
    @behind.set("key", frame("old"))
    catch(:out) { @near.change(["key"]) { throw :out } }
    read
    assert_nil @near.get("key")
  end

  def test_a_refusal_is_an_answer
    @behind.set("key", frame("old"))
    [Tiercel::Refused, Tiercel::BreakerOpen, Tiercel::PoolExhausted, Tiercel::NotACounter].each do |error|
      assert_raises(error) { @near.change(["key"]) { raise error } }
      assert_nil @near.get("key")
      read
      assert_equal frame("old"), @near.get("key")
    end
  end

  def test_a_batch
    keys = (1..3_000).map { |index| "key #{index}" }
    keys.each { |key| @behind.set(key, frame("old")) }
    assert_equal 3_000, @near.filled_multi(keys) { @behind.bytes.dup }.size
    assert_equal frame("old"), @near.get("key 7")
    late = @near.filled_multi(keys) do
      found = @behind.bytes.dup
      @near.change(keys) { keys.each { |key| @behind.set(key, frame("new")) } }
      found
    end
    assert_equal frame("old"), late["key 7"]
    assert_empty @near.get_multi(keys)
  end

  def test_copies_end_with_the_tier_and_with_the_value
    write("plain")
    ending = frame("ending", expires_at: Time.now.to_f + 50)
    @behind.set("ending", ending)
    read(key: "ending")
    @near.change(["short"], frame("short"), 20) { true }
    travel(30) do
      assert_equal frame("plain"), @near.get("key")
      assert_equal ending, @near.get("ending")
      assert_nil @near.get("short")
    end
    travel(55) do
      assert_nil @near.get("ending")
      assert_equal ending, read(key: "ending")
      assert_nil @near.get("ending")
    end
    travel(61) { assert_nil @near.get("key") }
  end

  # A new file that replaces another one does not know the writers in progress.
  def test_a_segment_that_was_replaced_meanwhile
    with_tmpdir do |dir|
      open = -> { Tiercel::Backends::Shared.build(Tiercel::BackendURL.parse("shared:#{dir}/segment?size=1MB"), {}) }
      shared = Tiercel::Tiers::Near.new(open.call, ttl: 60)
      epoch = shared.backend.segment.near_epoch("key")
      shared.change(["key"], frame("new"), nil) do
        Tiercel::Segment.remove(shared.backend.segment.path)
        fresh = Tiercel::Tiers::Near.new(open.call, ttl: 60)
        fresh.filled("key") { frame("old") }
        fresh.close
        true
      end
      travel_to_the_new_file(shared)
      assert_nil shared.get("key")
      assert_equal false, shared.backend.segment.near_fill("key", "old", nil, epoch)
    ensure
      shared&.close
    end
  end

  private

  # @param answers [Hash{Symbol => Object}] results of the bus' methods, or Procs that compute them
  def with_bus(**answers)
    @near = Tiercel::Tiers::Near.new(Tiercel::Backends::MemorySegment.build(nil, {}), bus: true)
    @near.bus = bus = Object.new
    answers.each do |name, answer|
      bus.define_singleton_method(name) { |*given| answer.is_a?(Proc) ? answer.call(*given) : answer }
    end
  end

  # The path is checked once a second, and when the segment is opened.
  def travel_to_the_new_file(near) = near.close
end
