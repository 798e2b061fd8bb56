# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "tiercel/segment"

# The last tier does not evict an entry that is read in the near tier, although no caller reads it in the last tier.
class TiersUsesTest < Tiercel::TestCase
  HOT = 100
  VALUE_BYTES = 4_000

  def setup
    @dir = Dir.mktmpdir("tiercel-uses-")
  end

  def teardown
    @store&.close
    FileUtils.rm_rf(@dir)
  end

  def build(*urls)
    ActiveSupport::Cache::TiercelStore.new(*urls, timeout: 20, compress: false)
  end

  # Writes three times the capacity of the last tier, and meanwhile reads the hot keys, but only near.
  #
  # @return [Array<String>] hot keys that are still in the last tier
  def survivors(store, writes)
    hot = Array.new(HOT) { |number| "hot #{number}" }
    hot.each { |name| store.write(name, name.ljust(VALUE_BYTES)) }
    misses = 0
    writes.times do |number|
      store.write("cold #{number}", "x" * VALUE_BYTES)
      3.times { |more| misses += 1 unless store.read(hot[((number * 3) + more) % HOT]) }
    end
    assert_equal 0, misses
    assert_operator store.backend.last.stats[:evictions], :>, writes / 2
    hot.select { |name| store.backend.last.get(name) }
  end

  def test_what_is_hot_near_alone_stays_in_a_full_sqlite_file
    @store = build("shared:#{@dir}/segment?size=1MB&ttl=3600", "sqlite:#{@dir}/cache.sqlite3?size=4MB")
    assert_operator survivors(@store, 3_000).size, :>=, HOT * 9 / 10
  end

  def test_what_is_hot_in_the_memo_stays
    @store = build("memory:?size=2MB", "shared:#{@dir}/segment?size=4MB&ttl=3600",
                   "sqlite:#{@dir}/cache.sqlite3?size=4MB")
    assert_operator survivors(@store, 3_000).size, :>=, HOT / 2
  end

  def test_which_keys_were_used
    segment = Tiercel::Segment.open(bytes: 1 << 20)
    300.times { |number| segment.set("key #{number}", "value") }
    (0...300).step(10) { |number| segment.get("key #{number}") }
    found = []
    cursor = nil
    rounds = 0
    loop do
      cursor, keys = segment.used_keys(cursor, 16, 1_000)
      assert_operator keys.size, :<=, 32
      found.concat(keys)
      rounds += 1
      break unless cursor
    end
    assert_equal Array.new(30) { |number| "key #{number * 10}" }.sort, found.sort
    assert_operator rounds, :>, 10
    assert_empty segment.used_keys(nil, 16, 0).last
    assert_raises(ArgumentError) { segment.used_keys("x", 16, 16) }
  end
end
