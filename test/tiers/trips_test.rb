# frozen_string_literal: true
# suites: store*

require "test_helper"
require "active_support/cache/tiercel_store"
require "support/counting_proxy"
require "tiercel/lab/servers"

# The trips of tiers: one for all keys that the near tier lacks, and never more for a change than without tiers.
class TiersTripsTest < Tiercel::TestCase
  Record = Struct.new(:cache_key, :cache_version)

  def self.server = @server ||= Tiercel::Lab::Servers::Redis.new.start

  def setup
    @proxy = CountingProxy.new(self.class.server.port)
    @store = Tiercel.new("memory:?ttl=600&bus=false", "redis://127.0.0.1:#{@proxy.port}/0", timeout: 20)
    @store.clear
    @far = Tiercel.new(self.class.server.url, timeout: 20)
  end

  def teardown
    [@store, @far].each(&:close)
    @proxy.close
  end

  def trips(&) = @proxy.count(&)

  def test_reads
    @far.write("key", "value")
    assert_equal 1, trips { assert_equal "value", @store.read("key") }
    assert_equal 0, trips { assert_equal "value", @store.read("key") }
    assert_equal 0, trips { assert_equal "value", @store.fetch("key") { flunk } }
    assert_equal 0, trips { assert_equal true, @store.exist?("key") }
    assert_equal 0, trips { assert_equal "value", @store.read("key", namespace: nil) }
    assert_equal 1, trips { assert_nil @store.read("absent") }
  end

  CHANGES = {
    write: ->(store) { store.write("key", "value") },
    write_unless_exist: ->(store) { store.write("new", "value", unless_exist: true) },
    delete: ->(store) { store.delete("key") },
    write_multi: ->(store) { store.write_multi((1..10).to_h { |index| ["key #{index}", index] }) },
    delete_multi: ->(store) { store.delete_multi((1..10).map { |index| "key #{index}" }) },
    increment: ->(store) { store.increment("count") },
    fetch_miss: ->(store) { store.fetch("absent") { "made" } },
    fetch_multi_misses: ->(store) { store.fetch_multi("one", "two") { "made" } },
  }.freeze

  def test_changes_cost_what_they_cost_without_tiers
    alone = Tiercel.new("redis://127.0.0.1:#{@proxy.port}/0", timeout: 20)
    CHANGES.each do |name, change|
      expected, found = [alone, @store].map do |store|
        change.call(store) # loads the scripts
        @far.clear
        @store.backend.near.clear(nil)
        trips { change.call(store) }
      end
      assert_equal expected, found, name
    end
    @store.fetch("kept") { "made" }
    assert_equal 0, trips { assert_equal "made", @store.fetch("kept") { flunk } }
  ensure
    alone&.close
  end

  def test_of_1000_keys_the_missing_half_in_one_trip
    names = (1..1_000).map { |index| "key #{index}" }
    values = names.to_h { |name| [name, "value of #{name}"] }
    @far.write_multi(values)
    assert_equal 1, trips { @store.read_multi(*names.each_slice(2).map(&:first)) }
    assert_equal 1, trips { assert_equal values.to_a, @store.read_multi(*names).to_a }
    assert_equal 0, trips { assert_equal values, @store.read_multi(*names) }
    assert_equal 0, trips { assert_equal values, @store.fetch_multi(*names) { flunk } }
    assert_equal 0, trips { assert_equal values, @store.read_multi(*names, namespace: nil) }
  end

  # Another machine has written the version that this one needs.
  def test_a_copy_of_another_version
    one, two = %w[1 2].map { |version| Record.new("record", version) }
    @store.write(one, "one")
    @far.write(two, "two")
    assert_equal "two", @store.read(two)
    assert_equal 0, trips { assert_equal "two", @store.read(two) }
    @store.write(one, "one")
    @far.write(two, "two")
    assert_equal({ two => "two" }, @store.read_multi(two))
    assert_equal 0, trips { assert_equal "two", @store.read(two) }
  end

  def test_near_hits_are_native
    @far.write("text", "a plain text")
    @store.read("text")
    assert_equal "a plain text", @store.backend.near.backend.segment.read("text")
  end
end
