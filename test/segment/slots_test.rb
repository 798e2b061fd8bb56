# frozen_string_literal: true

# suites: kernel

require "test_helper"
require_relative "record_locks"
require_relative "segment_files"

# 512 processes may write concurrently. A further one reads and deletes, reports this once, and writes when a slot is
# free.
class SegmentSlotsTest < Tiercel::TestCase
  include SegmentFiles

  def setup
    super
    skip "[environment] struct flock is another one here" unless RecordLocks.available?
  end

  def test_it_is_reported_once_and_ends_when_a_slot_is_free
    fork_and_wait(1) { store.write("read", "value") && store.write("delete", "value") }
    RecordLocks.held("#{@path}.lock", 1, 512) do |pid|
      reports = capture_reports { use_without_slot }
      assert_equal [Tiercel::Refused], reports.map { |report| report.error.class }
      assert_match(/512 processes use this segment already: this one can read and delete only/,
                   reports.first.error.message)
      # Another process has not reported it yet; this store would not report it again so soon.
      said = fork_and_wait(1) { capture_reports { 2.times { another_store.write("name", "value") } }.size }
      assert_equal [1], said
      Process.kill(:KILL, pid)
      wait_until("a slot") { store.write("name", "value") }
    end
    assert_equal "value", store.read("name")
  ensure
    store.backend.close
  end

  private

  def store = @store ||= build

  def another_store = @another_store ||= build

  def build = Tiercel.new("shared:#{@path}", size: "1MB", namespace: nil)

  def use_without_slot
    assert_equal false, store.backend.segment.writable?
    3.times { refute store.write("name", "value") }
    refute store.write_multi({ "a" => 1, "b" => 2 })
    assert_nil store.increment("counter")
    refute store.write("name", "value", unless_exist: true)
    assert_equal "value", store.read("read")
    assert_equal true, store.delete("delete")
    assert_equal "computed", store.fetch("absent") { "computed" }
  end
end
