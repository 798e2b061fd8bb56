# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "tiercel/segment"

# The last tier does not evict an entry that is read in the near tier, although no caller reads it in the last tier.
class TiersUsesTest < Tiercel::TestCase
  HOT = 100
  VALUE_BYTES = 4_000

  def teardown
    @store&.close
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
    @store = build("shared:#{dir}/segment?size=1MB&ttl=3600", "sqlite:#{dir}/cache.sqlite3?size=4MB")
    assert_operator survivors(@store, 3_000).size, :>=, HOT * 9 / 10
  end

  def test_what_is_hot_in_the_memo_stays
    @store = build("memory:?size=2MB", "shared:#{dir}/segment?size=4MB&ttl=3600",
                   "sqlite:#{dir}/cache.sqlite3?size=4MB")
    assert_operator survivors(@store, 3_000).size, :>=, HOT / 2
  end
end
