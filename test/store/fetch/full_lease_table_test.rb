# frozen_string_literal: true

# suites: kernel
# quick

require "test_helper"
require "active_support/cache/tiercel_store"

# More concurrent computations than the lease table can hold: 256 in a segment of 1 MB.
class FullLeaseTableTest < Tiercel::TestCase
  NAMES = Array.new(400) { |number| "app:#{number}" }.freeze

  def on_each_segment
    with_tmpdir do |dir|
      %W[memory: shared:#{dir}/segment].each do |url|
        store = Tiercel.new(url, size: "1MB")
        yield store
        assert_operator store.stats[:lease_table_full], :>, 0
      ensure
        store&.close
      end
    end
  end

  # Each block fetches the next name.
  def fetch_nested(store, names = NAMES, &innermost)
    return yield if names.empty?
    store.fetch(names.first) { fetch_nested(store, names.drop(1), &innermost) && "computed" }
  end

  # No slot would show a delete of these keys while their blocks run.
  def test_values_without_a_lease_are_not_stored
    on_each_segment do |store|
      fetch_nested(store) { true }
      assert_equal store.stats[:lease_table_full], NAMES.size - store.read_multi(*NAMES).size
      assert_equal "again", store.fetch(NAMES.find { |name| !store.exist?(name) }) { "again" }
    end
  end

  def test_a_write_in_another_thread_stays
    on_each_segment do |store|
      go = Queue.new
      thread = Thread.new { go.pop && NAMES.each { |name| store.write(name, "written") } }
      fetch_nested(store) { go << true && thread.join }
      assert_equal ["written"], store.read_multi(*NAMES).values.uniq
    end
  end
end
