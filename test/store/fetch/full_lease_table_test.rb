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

  # Runs the given block in another thread, inside the nested fetches.
  def elsewhere(store)
    go = Queue.new
    thread = Thread.new { go.pop && yield }
    fetch_nested(store) { go << true && thread.join }
  end

  # No slot would show a delete of these keys while their blocks run.
  def test_values_without_a_lease_are_not_stored
    on_each_segment do |store|
      fetch_nested(store) { true }
      assert_equal store.stats[:lease_table_full], NAMES.size - store.read_multi(*NAMES).size
      assert_equal "again", store.fetch(NAMES.find { |name| !store.exist?(name) }) { "again" }
    end
  end

  { "delete" => ->(store) { NAMES.each { |name| store.delete(name) } },
    "delete_multi" => ->(store) { store.delete_multi(NAMES) },
    "delete_matched" => ->(store) { store.delete_matched(/app/) },
    "clear" => ->(store) { store.clear },
    "clear with a namespace" => ->(store) { store.clear(namespace: "app") } }.each do |what, invalidate|
    define_method("test_#{what.tr(" ", "_")}_in_another_thread_wins_against_the_blocks") do
      on_each_segment do |store|
        elsewhere(store) { invalidate.call(store) }
        assert_empty store.read_multi(*NAMES)
      end
    end
  end

  def test_a_tag_that_is_invalidated_wins_against_the_blocks
    on_each_segment do |store|
      fetch_nested(store) do
        store.fetch("tagged", tags: ["t"]) { Thread.new { store.invalidate_tags("t") }.join && "old" }
      end
      assert_nil store.read("tagged")
    end
  end

  def test_a_value_that_was_written_meanwhile_stays
    on_each_segment do |store|
      elsewhere(store) { NAMES.each { |name| store.write(name, "written") } }
      assert_equal ["written"], store.read_multi(*NAMES).values.uniq
    end
  end
end
