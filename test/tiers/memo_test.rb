# frozen_string_literal: true
# suites: store*

require "test_helper"
require "active_support/cache/tiercel_store"

# The memo of a near tier: it returns values without a copy while the segment says that they are current.
class TiersMemoTest < Tiercel::TestCase
  TEXT = ("fragment " * 5_000).freeze

  def test_hits_near_come_from_its_memo
    over_sqlite(memo: "4MB") do |store|
      store.write("text", TEXT)
      3.times { store.read("text") }
      before = hits(store)
      found = [store.read("text"), store.fetch("text", expires_in: 60) { flunk }, store.read_multi("text")["text"],
               store.fetch_multi("text") { flunk }["text"]]
      assert_equal [[TEXT, false]], found.map { |value| [value, value.frozen?] }.uniq
      found.first << "mine"
      assert_equal TEXT, store.read("text")
      assert_equal 5, hits(store) - before
    end
  end

  # With a tier in the process, each process would have its own copies, and would read values that another process has
  # overwritten.
  def test_changes_of_another_process_are_seen
    with_tmpdir do |directory|
      urls = ["shared:#{directory}/segment?size=8MB&memo=4MB&ttl=60", "file:#{directory}/cache"]
      store = Tiercel.new(*urls)
      store.write("text", TEXT)
      store.write("number", 1)
      9.times { assert_equal [TEXT, 1], store.read_multi("text", "number").values }
      fork_and_wait(1) { Tiercel.new(*urls).write_multi({ "text" => "new", "number" => 2 }) && nil }
      assert_equal ["new", 2], [store.read("text"), store.read("number")]
      fork_and_wait(1) { Tiercel.new(*urls).delete_multi(%w[text number]) && nil }
      assert_empty store.read_multi("text", "number")
    ensure
      store&.close
    end
  end

  def test_frozen_objects_are_kept_near
    over_sqlite(frozen: true) do |store|
      store.write("rows", [{ name: "a" }])
      3.times { store.read("rows") }
      assert_same store.read("rows"), store.read("rows")
    end
  end

  private

  def over_sqlite(memo: nil, **options)
    with_tmpdir do |directory|
      urls = ["shared:#{directory}/segment?size=8MB#{"&memo=#{memo}" if memo}", "sqlite:#{directory}/cache.sqlite3"]
      store = Tiercel.new(*urls, **options)
      yield store
      store.close
    end
  end

  def hits(store) = store.stats[:tiers].values.first[:memo_hits]
end
