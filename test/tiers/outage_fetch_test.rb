# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/last_tier_away"

# `fetch` and `stale_if_error` while the last tier does not answer.
class TiersOutageFetchTest < Tiercel::TestCase
  include LastTierAway

  # @return [Array] results of `count` concurrent processes, and the number of blocks that ran
  def fetched_at_once(count)
    runs = "#{dir}/runs"
    values = fork_and_wait(count) do
      store = build(shared, timeout: 0.1)
      yield store if block_given?
      store.read("nothing")
      store.fetch("key", expires_in: 60) do
        File.write(runs, "x", mode: "a")
        wait_until { store.backend.near.stats[:lease_waits] >= count - 1 }
        "made by #{Process.pid}"
      end
    end
    [values, File.size(runs)]
  end

  def test_one_block_for_each_machine_and_key
    build(shared).write("other", "value")
    @server.pause
    values, runs = fetched_at_once(4)
    assert_equal 1, runs
    assert_equal 1, values.uniq.size
  ensure
    @server.resume
  end

  # The block also runs once if copies are no longer trusted because no process receives messages.
  def test_one_block_where_copies_are_not_trusted
    build(shared).write("other", "value")
    @server.pause
    values, runs = fetched_at_once(4) { |store| store.backend.near.coverage.trust = 60 }
    assert_equal 1, runs
    assert_equal 1, values.uniq.size
  ensure
    @server.resume
  end

  # A take without an answer leaves no writer registered in the key's stripe.
  def test_what_was_made_is_left_near_though_the_last_tier_was_asked_for_the_lease
    store = build(shared, breaker: false, timeout: 0.1)
    @server.pause
    assert_equal "made", store.fetch("key", expires_in: 60) { "made" }
    assert_equal "made", store.backend.near.get("key") && store.read("key")
  ensure
    @server.resume
  end

  # With `stale_if_error`, copies are served for this many seconds after they are no longer trusted.
  def test_copies_answer_within_stale_if_error
    { 60 => "old", 0.001 => nil }.to_a.product(%W[shared:#{dir}/late memory:]).each do |(seconds, expected), url|
      store = build("#{url}?size=1MB&ttl=600", stale_if_error: seconds)
      store.clear
      near = store.backend.near
      store.write_multi({ "key" => "old", "gone" => "old" })
      wait_until { store.read_multi("key", "gone").size == 2 && near.get("key") && near.get("gone") }
      assert_equal %w[old old], [store.read("key"), store.read("gone")]
      near.bus.close
      away(store) do
        store.delete("gone")
        near.backend.segment.near_trust = 1e-9
        near.coverage.stub(:trust, 1e-9) do
          assert_equal [expected, nil], [store.read("key"), store.read("gone")]
          assert_equal({ "key" => expected }.compact, store.read_multi("key", "gone"))
          assert_equal expected || "new", store.fetch("key") { "new" }
        end
      end
    end
  end

  def test_what_was_deleted_while_its_block_ran_is_not_left_near
    store = build(shared)
    away(store) do
      store.fetch("key", expires_in: 60) { store.delete("key") || "made" }
      assert_nil store.read("key")
      assert_equal "again", store.fetch("key", expires_in: 60) { "again" }
      assert_equal "again", store.read("key")
    end
  end
end
