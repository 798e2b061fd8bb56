# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/last_tier_away"

# Changes while the last tier does not answer, and their result when it returns with all its entries.
class TiersOutageTest < Tiercel::TestCase
  include LastTierAway

  def test_stats_have_what_is_known_of_the_near_tiers
    [shared, "memory:?ttl=600&bus=false"].each do |near|
      store = build(near)
      store.write("a", "value")
      names = store.stats[:tiers].keys
      away(store) do
        found = store.stats
        assert_equal names, found[:tiers].keys
        assert_nil found[:tiers].values.last
        assert(found[:tiers].values[..-2].all? { |of_near| of_near[:entries] == 1 })
        refute_includes found, :entries
        assert_includes found, :stale_hits
      end
      assert_operator store.stats[:entries], :>=, 1
    end
  end

  def test_what_was_deleted_or_written_does_not_come_back
    [shared, "memory:?ttl=600&bus=false"].each do |near|
      store = build(near)
      store.write_multi(%w[a b c d e kept].to_h { |name| [name, "old"] })
      store.write("raw", "old", raw: true)
      store.increment("counter", 5)
      away(store) do
        assert_equal false, store.delete("a")
        assert_nil store.write("b", "new")
        assert_equal 0, store.delete_multi(%w[c raw counter])
        store.write_multi({ "d" => "new" })
        assert_nil store.read("b")
      end
      assert_equal({ "e" => "old", "kept" => "old" }, store.read_multi(*%w[a b c d e kept]))
      assert_equal({ "e" => "old", "kept" => "old" }, store.read_multi(*%w[a b c d e kept]))
      assert_equal "old", store.read("raw", raw: true) # may now belong to another machine
      assert_equal 6, store.increment("counter")
      assert_equal "old", build("memory:").read("kept")
      store.clear
    end
  end

  # No caller waits for these deletes in the last tier, and no read finds the entries there in the meantime.
  def test_a_pending_key_is_not_read_from_the_last_tier
    [shared, "memory:?ttl=600&bus=false"].each do |near|
      store = build(near)
      %w[a kept].each { |name| build("memory:").write(name, "old") }
      build("memory:").write("raw", "old", raw: true)
      pending(store) do
        away(store) { store.delete_multi(%w[a raw]) }
        assert_nil store.read("a")
        assert_equal({ "kept" => "old" }, store.read_multi("a", "kept"))
        assert_nil store.read("raw", raw: true)
        assert_equal false, store.exist?("a")
        assert_equal "made", store.fetch("a") { "made" }
        assert_equal({ "a" => "more" }, store.fetch_multi("a", force: true) { "more" })
        assert_equal 1, store.increment("other")
        assert_equal "old", store.read("kept")
      end
      # A server that refused is asked again.
      travel_monotonic(1) { assert_equal "old", store.read("raw", raw: true) }
      assert_nil build("memory:").read("a")
      store.clear
    end
  end

  # Another process has met no outage.
  def test_a_copy_that_was_made_before_a_repeated_delete_goes_too
    store, other = build(shared), build(shared)
    store.write("key", "old")
    away(store) { store.delete("key") }
    assert_equal "old", other.read("key")
    store.read("kept")
    assert_nil other.read("key")
  end

  # A block that began before the delete computes a value older than the delete.
  def test_a_value_computed_before_a_pending_delete_is_not_stored
    reports = []
    store = build(shared, error_handler: ->(exception:, **) { reports << exception.message })
    pending(store) do
      store.fetch("key") do
        away(store) { store.delete("key") }
        "before"
      end
      assert_nil store.read("key")
    end
    assert_empty reports
    assert_nil store.read("key")
    assert_nil build("memory:").read("key")
  end

  def test_what_got_no_answer_is_deleted_too
    store = build(shared)
    store.write_multi({ "a" => "old", "b" => "old" })
    lost = ->(*) { raise Tiercel::TimedOut }
    store.backend.last.stub(:delete, lost) { assert_equal false, store.delete("a") }
    travel_monotonic(COOL_DOWN) { store.backend.last.stub(:set, lost) { assert_nil store.write("b", "new") } }
    travel_monotonic(2 * COOL_DOWN) { assert_equal [nil, nil], [store.read("a"), store.read("b")] }
  end

  def test_a_tag_that_was_invalidated
    store = build(shared)
    store.write("tagged", "old", tags: ["tag"])
    assert_equal "old", store.read("tagged", tags: ["tag"])
    away(store) { store.invalidate_tags("tag") }
    assert_nil store.read("tagged", tags: ["tag"])
  end

  # Entries that other machines have written since must stay, and finding the keys would need a scan of the whole
  # server.
  def test_a_clear_and_a_delete_matched_are_reported_and_not_repeated
    calls = { clear: ->(store) { store.clear }, delete_matched: ->(store) { store.delete_matched("k*") } }
    calls.to_a.product([shared, "memory:?ttl=600&bus=false"]).each do |(method, call), near|
      store = build(near, namespace: "app")
      store.write("key", "old")
      reports = capture_reports do
        away(store) do
          assert_nil call.call(store)
          assert_nil store.read("key")
        end
      end
      assert_equal [method], reports.map { |report| report.context[:method] }.uniq
      assert_match(/#{method} did not reach it, and is not repeated/, reports.last.error.message)
      assert_equal false, undelivered(store).any?
      assert_equal "old", store.read("key")
      assert_equal 0, @server.command("INFO", "commandstats").to_s.scan(/cmdstat_scan:calls=(\d+)/).flatten.first.to_i
      assert store.delete("key")
    end
  end
  # A Timeout around a request says nothing about the server. The interrupted write becomes a delete.
  def test_keys_of_interrupted_writes_are_readable_at_once
    store = build("memory:?ttl=600&bus=false")
    other = build("memory:?ttl=600&bus=false")
    interrupted = Class.new(StandardError)
    store.backend.last.stub(:set, ->(*) { raise interrupted }) do
      assert_raises(interrupted) { store.write("key", "value") }
    end
    assert_nil store.read("key")
    other.write("key", "newer")
    assert_equal "newer", store.read("key")
  end
end
