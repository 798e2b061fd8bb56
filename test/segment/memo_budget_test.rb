# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "active_support/cache/tiercel_store"
require_relative "segment_files"

# The default memo of every process: its share of the machine's budget, and its admission of Strings.
class SegmentMemoBudgetTest < Tiercel::TestCase
  include SegmentFiles

  MB = 1 << 20
  TEXT = ("é" * 20_000).freeze

  def test_one_process_has_an_eighth_of_the_segment_and_16_mb_at_most
    { 32 => 4, 64 => 8, 192 => 16, 4 => 0 }.each do |size, expected|
      store = Tiercel.new("shared:#{@path}-#{size}?size=#{size}MB")
      assert_equal expected * MB, store.stats[:memo_limit_bytes]
    end
    assert_equal 4 * MB, Tiercel.new("memory:").stats[:memo_limit_bytes]
  end

  def test_a_size_is_bytes_for_each_process_and_false_is_none
    { "2MB" => 2 * MB, true => 16 * MB, false => 0 }.each do |memo, expected|
      store = Tiercel.new("shared:#{@path}?size=64MB", memo: memo)
      store.backend.segment.send(:share_budget)
      assert_equal expected, store.stats[:memo_limit_bytes]
    end
  end

  def test_stores_of_one_process_divide_its_share
    stores = Array.new(3) { Tiercel.new("shared:#{@path}?size=64MB") }
    stores.each { |store| store.backend.segment.send(:share_budget) }
    assert_equal [8 * MB / 3], stores.map { |store| store.stats[:memo_limit_bytes] }.uniq
  end

  # Callers that wait for a lease hold a segment handle, but they are not stores.
  def test_waiting_callers_take_no_share
    stores = Array.new(2) { Tiercel.new("shared:#{@path}?size=64MB") }
    asked, go_on = Queue.new, Queue.new
    leader = Thread.new { stores[0].fetch("key") { asked.push(true) && go_on.pop } }
    asked.pop
    follower = Thread.new { stores[1].fetch("key") { flunk } }
    wait_until("its wait") { stores[1].stats[:lease_waits] >= 1 }
    assert_equal 4 * MB, share(stores[0])
    go_on << "made"
    assert_equal %w[made made], [leader.value, follower.value]
    assert_equal 4 * MB, share(stores[0])
  end

  # A process frees memory when others start, and may use it again after they have ended.
  def test_processes_give_memory_back_as_others_start
    store = filled_store
    full = store.stats
    assert_operator full[:memo_bytes], :>, 7 * MB
    at_once(3) do
      share(store)
      assert_equal 2 * MB, store.stats[:memo_limit_bytes]
      assert_operator store.stats[:memo_bytes], :<=, 2 * MB
      assert_operator store.stats[:memo_entries], :>, 30
    end
    assert_equal 8 * MB, share(store)
  end

  def test_only_strings_from_8_kb_on_enter
    store = Tiercel.new("shared:#{@path}?size=64MB")
    entered = [1_000, 4_000, 8_000, 8_192, 24_000].select do |bytes|
      store.write("key#{bytes}", "a" * bytes)
      before = store.stats[:memo_entries]
      50.times { store.read("key#{bytes}") }
      store.stats[:memo_entries] > before
    end
    assert_equal [8_192, 24_000], entered
  end

  private

  def filled_store
    store = Tiercel.new("shared:#{@path}?size=64MB")
    220.times { |i| store.write("key#{i}", TEXT) }
    4.times { 220.times { |i| store.read("key#{i}") } }
    store
  end

  def share(store) = store.backend.segment.send(:share_budget)

  # Pretends that this many processes use the segment.
  def at_once(count)
    ready, begun = IO.pipe
    finish, over = IO.pipe
    pids = Array.new(count) { start_other(ready, begun, finish, over) }
    begun.close
    assert_equal count, ready.read(count).size
    yield
  ensure
    [ready, begun, finish, over].each { |pipe| pipe.close unless pipe.closed? }
    pids&.each { |pid| Process.wait(pid) }
  end

  def start_other(ready, begun, finish, over)
    fork do
      [ready, over].each(&:close)
      Tiercel.new("shared:#{@path}?size=64MB").read("key")
      begun.write("x")
      finish.read
    ensure
      exit!(0)
    end
  end
end
