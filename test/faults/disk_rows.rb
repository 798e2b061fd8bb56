# frozen_string_literal: true

require "support/held_by_another"

# The rows of docs/failures.md that `sqlite:` and `file:` share. The including class defines `build` and
# `build_store`, and `lock`, which lets another process lock the cache and returns an object to keep.
module DiskRows
  # Each of these calls returns while the lock is still held: it waits for its time budget, not for the lock.
  def test_locked_by_another_process
    patient = build_store(timeout: 30) # for calls that must succeed on a busy machine
    patient.write("key", "value")
    while_locked do
      store = build_store(timeout: 0.2)
      reports = capture_reports { assert_nil store.write("key", "new") }
      assert_equal [Tiercel::TimedOut], reports.map { |report| report.error.class }
      assert_match(/locked for more than 200 ms/, reports.first.error.message)
      assert_equal "value", patient.read("key")
    end
    assert_equal true, patient.write("key", "new")
  end

  def test_a_thread_that_is_killed_leaves_nothing_locked
    backend = build(timeout: 5)
    20.times do
      thread = Thread.new { loop { backend.increment("counter") } }
      sleep 0.005 # at any step
      thread.kill.join
    end
    count = backend.get("counter").to_i
    assert_equal count + 1, backend.increment("counter")
  end

  private

  def while_locked(&) = HeldByAnother.while(method(:lock), &)
end
