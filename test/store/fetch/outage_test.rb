# frozen_string_literal: true
# suites: store
# quick

require "test_helper"
require "active_support/cache/tiercel_store"
require "timeout"

# Callers of one process while the server does not answer: they share a block, although nobody can have the lease.
class FetchOutageTest < Tiercel::TestCase
  CALLERS = 8

  def setup
    super
    @store = Tiercel.new("redis://127.0.0.1:1/0", error_handler: ->(**) {}, lease_wait: 600)
  end

  def teardown
    @store.close
    super
  end

  CALLS = {
    fetch: ->(store, &block) { store.fetch("key") { block.call } },
    fetch_multi: lambda do |store, &block|
      store.fetch_multi("key", "other") { |name| name == "key" ? block.call : 1 }["key"]
    end,
  }.freeze

  CALLS.each do |name, call|
    define_method(:"test_callers_of_#{name}_share_a_block") do
      runs, gate = Queue.new, Queue.new
      callers = Array.new(CALLERS) { Thread.new { call.call(@store) { runs << 1; gate.pop } } }
      wait_until { followers == CALLERS - 1 }
      gate << "made"
      assert_equal ["made"], callers.map(&:value).uniq
      assert_equal 1, runs.size
    end
  end

  # Another process keeps the lock of a folder for longer than each call may wait.
  def test_callers_share_a_block_while_a_folder_is_locked
    @store.close
    @store = Tiercel.new("file:#{dir}/files?timeout=0.05", error_handler: ->(**) {}, lease_wait: 600)
    @store.write("other", 1)
    runs, gate = Queue.new, Queue.new
    Tiercel::FileLock.new("#{dir}/files/tiercel-v1/lock", 5).hold do
      callers = Array.new(CALLERS) { Thread.new { @store.fetch("key") { runs << 1; gate.pop } } }
      wait_until { followers + runs.size == CALLERS }
      runs.size.times { gate << "made" }
      assert_equal ["made"], callers.map(&:value).uniq
    end
    assert_equal 1, runs.size
  end

  def test_another_version_and_what_was_deleted_are_not_shared
    began, gate = Queue.new, Queue.new
    old = Thread.new { @store.fetch("key", version: "1") { began << 1; gate.pop } }
    began.pop
    assert_equal("two", @store.fetch("key", version: "2") { "two" })
    @store.delete("key")
    assert_equal("new", at_once { @store.fetch("key", version: "1") { "new" } })
    gate << "old"
    assert_equal "old", old.value
  end

  def test_an_invalidated_tag_is_not_shared
    began, gate = Queue.new, Queue.new
    old = Thread.new { @store.fetch("key", tags: ["t"]) { began << 1; gate.pop } }
    began.pop
    @store.invalidate_tags("t")
    assert_equal("new", at_once { @store.fetch("key", tags: ["t"]) { "new" } })
    gate << "old"
    assert_equal "old", old.value
  end

  private

  def at_once(&) = Timeout.timeout(30, &)

  def followers
    flights = @store.instance_variable_get(:@settings).fetch.instance_variable_get(:@flights)
    flights.instance_variable_get(:@running).values.uniq.sum(&:followers)
  end
end
