# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/last_tier_away"
require "support/listening_processes"

# A near tier keeps the values with tags and the generations of the tags, and a read compares both.
class TiersTaggedCopiesTest < Tiercel::TestCase
  include ListeningProcesses

  VALUE = "value " * 300

  # @return [Integer] commands that read on the server during the block
  def trips
    before = reads
    yield
    reads - before
  end

  def reads = server.command("INFO", "commandstats").scan(/cmdstat_m?get:calls=(\d+)/).flatten.sum(&:to_i)

  # Reads until the value and its generations are near.
  def kept_tagged(store, key = "key", tags: %w[a b])
    wait_until("near copies") do
      store.read(key)
      trips { store.fetch(key, tags:) { flunk "computed" } }.zero?
    end
  end

  def test_reads_of_every_kind_need_no_trip
    store = listening(machine(:one, namespace: "app"))
    assert_equal true, store.write("key", VALUE, tags: %w[a b])
    store.write("packed", { "list" => [VALUE] * 200 }, tags: %w[a])
    kept_tagged(store)
    kept_tagged(store, "packed", tags: %w[a])
    reads = lambda do
      assert_equal VALUE, store.read("key")
      assert_equal VALUE, store.fetch("key", tags: %w[a b]) { flunk }
      assert_equal VALUE, store.fetch("key") { flunk }
      assert_equal [VALUE, { "list" => [VALUE] * 200 }], store.read_multi("key", "packed").values
      assert_equal true, store.exist?("key")
    end
    # A process that could not run for three seconds asks the last tier, once.
    wait_until("reads without a trip") { trips(&reads).zero? }
  end

  # The segment compares the tags itself, whether the call names them or not.
  def test_a_near_hit_that_names_its_tags_is_the_segments
    store = listening(machine(:one, namespace: "app"))
    store.write("key", VALUE, tags: %w[a b])
    kept_tagged(store)
    # A process that could not run for three seconds asks the last tier, once.
    wait_until("a hit of the segment alone") do
      calls = Hash.new(0)
      trace = TracePoint.new(:call) { |call| calls[call.method_id] += 1 if call.path.include?("/tiers/") }
      trace.enable { assert_equal VALUE, store.fetch("key", tags: %w[a b]) { flunk } }
      calls.size <= 3
    end
  end

  def test_an_invalidation_is_seen_at_once_by_every_process_of_the_machine
    store = listening(machine(:one, namespace: "app"))
    store.write("key", VALUE, tags: %w[a b])
    kept_tagged(store)
    10.times do |round|
      fork_and_wait(1) { machine(:one, namespace: "app").invalidate_tags(round.odd? ? "a" : "b") || raise("refused") }
      assert_nil store.read("key")
      assert_equal round, store.fetch("key", tags: %w[a b]) { round }
      store.read("key")
    end
  end

  def test_an_invalidation_of_another_machine_arrives_by_the_bus
    store = listening(machine(:one, namespace: "app"))
    store.write("key", VALUE, tags: %w[a b])
    kept_tagged(store)
    fork_and_wait(1) { machine(:two, namespace: "app").invalidate_tags("b") || raise("refused") }
    wait_until("a miss") { store.read("key").nil? }
  end

  def test_the_copy_of_a_generation_that_is_lost_costs_a_trip_and_no_value
    store = listening(machine(:one, namespace: "app"))
    store.write("key", VALUE, tags: %w[a b])
    kept_tagged(store)
    store.backend.near.forget(["app:tiercel:tag:a"])
    assert_equal VALUE, store.read("key")
    kept_tagged(store)
  end

  # Raw values and counters have no copies, whatever their size.
  def test_raw_values_of_eight_bytes_have_no_copies
    store = listening(machine(:one, namespace: "app"))
    store.write("raw", "12345678", raw: true)
    2.times { assert_equal "12345678", store.read("raw", raw: true) }
    2.times { store.read("raw") }
    assert_nil store.backend.near.get("app:raw")
  end
end

# While the last tier does not answer.
class TiersTaggedCopiesInOutageTest < Tiercel::TestCase
  include LastTierAway

  def test_a_value_that_was_invalidated_meanwhile_is_not_read
    store = build(shared)
    store.write("key", "old", tags: %w[a])
    store.write("other", "kept", tags: %w[b])
    2.times { store.read_multi("key", "other") }
    away(store) do
      assert_nil store.invalidate_tags("a") || nil
      assert_nil store.read("key")
      assert_equal "kept", store.read("other")
    end
    assert_nil store.read("key")
    assert_equal "kept", store.read("other")
  end
end
