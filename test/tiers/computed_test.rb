# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/machines"

# While the last tier does not answer, a machine computes values itself: once for all its processes, and again when
# the trust in copies ends.
class TiersComputedTest < Tiercel::TestCase
  include Machines

  BREAKER = { failures: 1, cool_down: 0.05, max_cool_down: 0.05 }.freeze

  def teardown
    super
    @between&.stop
  end

  # The proxy for the connections of the machine `a`.
  def between = @between ||= Tiercel::Lab::Network::Proxy.new(server).start

  def cut_off(name = :a, trust:, **options)
    store = machine(name, url: between.url, breaker: BREAKER, error_handler: ->(**) {}, **options)
    store.backend.near.bus.interval = trust / 4
    store.backend.near.coverage.trust = trust
    store
  end

  # Cuts the connection and waits until no copy is trusted.
  def cut(*stores)
    between.change(refuse: true) && between.cut
    stores.each { |store| wait_until("no trust") { !coverage(store).trusted? } }
  end

  def heal(store)
    between.heal
    wait_until("an answer, and trust") { store.write("nothing", 1) && coverage(store).trusted? }
  end

  def settled(&) = travel_monotonic(Tiercel::Undelivered::SETTLE_SECONDS, &)

  def test_one_block_for_all_callers_that_come_after_it
    store = listening(cut_off(trust: 60))
    cut_by_hand(store) do
      runs = 0
      assert_equal [1] * 3, Array.new(3) { store.fetch("key", expires_in: 60) { runs += 1 } }
      assert_equal 1, runs
      assert_equal 1, store.read("key")
      assert_equal({ "key" => 1 }, store.read_multi("key", "other"))
      assert_equal({ "key" => 1, "other" => 2 }, store.fetch_multi("key", "other") { 2 })
      assert_equal({ "key" => 1, "other" => 2 }, store.fetch_multi("key", "other") { 3 })
      assert_equal [1], fork_and_wait(1) { cut_off(trust: 60).fetch("key") { "another" } }
      assert store.exist?("key")
    end
  end

  # By the clock of this test the copies are still trusted; by the segment's clock they are not.
  def cut_by_hand(store)
    cut
    near = store.backend.near
    near.coverage.stub(:covered, 0) do
      near.backend.segment.near_trust = 1e-9
      yield near
    end
  end

  # Nobody can compare the generations of its tags.
  def test_a_value_with_tags_is_not_left_near
    store = listening(cut_off(trust: 60))
    store.write("tagged", 1, tags: ["tag"])
    wait_until("the generation's copy") { store.read("tagged") && store.backend.near.get("tiercel:tag:tag") }
    cut
    assert_equal("made", store.fetch("key", expires_in: 60, tags: ["tag"]) { "made" })
    assert_nil store.backend.near.get("key")
  end

  def test_no_longer_than_copies_are_trusted
    store = listening(cut_off(trust: 60))
    cut_by_hand(store) do |near|
      store.fetch("key", expires_in: 600) { "made" }
      now = near.coverage.now
      { 59 => "made", 61 => nil, -5 => nil }.each do |seconds, expected|
        near.coverage.stub(:now, now + (seconds * 1_000_000_000)) do
          expected ? assert_equal(expected, store.read("key")) : assert_nil(store.read("key"), seconds)
        end
      end
    end
  end

  # The time counts from the beginning of the block, not from its end.
  def test_a_block_that_takes_its_time
    store = listening(cut_off(trust: 60))
    cut_by_hand(store) do |near|
      now = near.coverage.now
      near.coverage.stub(:now, -> { now }) do
        store.fetch("key", expires_in: 600) do
          now += 61_000_000_000
          "made"
        end
        assert_nil store.read("key")
      end
    end
  end

  def test_a_delete_in_another_process_takes_it_away
    store = listening(cut_off(trust: 60))
    cut_by_hand(store) do
      store.fetch("key", expires_in: 60) { "made" }
      assert_equal [false], fork_and_wait(1) { cut_off(trust: 60).delete("key") }
      assert_nil store.read("key")
      store.fetch("key") { "again" }
      fork_and_wait(1) { cut_off(trust: 60).write("key", "written") && nil }
      assert_nil store.read("key")
      store.fetch("key") { "again" }
      fork_and_wait(1) { cut_off(trust: 60).clear }
      assert_nil store.read("key")
    end
  end

  # With memory in front, the machine is a single process.
  def test_with_memory_in_front
    store = ActiveSupport::Cache::TiercelStore.new("memory:", between.url, breaker: BREAKER, error_handler: ->(**) {})
    @stores << store
    listening(store)
    cut_by_hand(store) do
      runs = 0
      3.times { store.fetch("key", expires_in: 60) { runs += 1 } }
      values = Array.new(4) { Thread.new { store.fetch("other", expires_in: 60) { runs += 1 } } }.map(&:value)
      assert_equal [2, [2]], [runs, values.uniq]
      store.delete("key")
      assert_nil store.read("key")
    end
  end

  # While the last tier answers, its result counts.
  def test_it_is_not_given_once_the_last_tier_answers
    store = listening(cut_off(trust: 60))
    cut_by_hand(store) do
      store.fetch("key", expires_in: 60) { "made" }
      between.heal
      wait_until("an answer") { store.write("other", 1) }
      settled { assert_equal [nil, {}], [store.read("key"), store.read_multi("key")] }
    end
  end

  # Only this machine is cut off, and another one writes.
  def test_what_another_machine_writes_meanwhile
    store = listening(cut_off(trust: 0.5))
    other = machine(:b)
    cut(store)
    assert_equal "old", store.fetch("key", expires_in: 60) { "old" }
    assert other.write("key", "new")
    wait_until("the end of trust") { store.read("key").nil? }
    store.fetch("other", expires_in: 60) { "old" }
    gaps = gaps(store)
    heal(store)
    assert_operator gaps(store), :>, gaps
    settled { assert_equal ["new", nil], [store.read("key"), store.read("other")] }
  end

  # Invalidation messages are delayed.
  def test_a_connection_that_was_held
    store = listening(listen_through_proxy(machine(:a, breaker: BREAKER, error_handler: ->(**) {})))
    coverage(store).trust = 0.5
    other = machine(:b)
    @proxy.change(hold: true)
    wait_until("no trust") { !coverage(store).trusted? }
    store.backend.last.stub(:get, ->(*) { raise Tiercel::TimedOut }) { store.fetch("key") { "old" } }
    other.write("key", "new")
    @proxy.heal
    wait_until("an answer, and trust") { store.write("nothing", 1) && coverage(store).trusted? }
    settled { assert_equal "new", store.read("key") }
  end
end
