# frozen_string_literal: true
# suites: store
# quick

require "test_helper"
require "active_support/cache/tiercel_store"
require "support/fetch_places"
require "support/heard_calls"

# An entry depends on the tags of the entries that its block reads or computes.
class InheritedTagsTest < Tiercel::TestCase
  # Ways in which a block gets the value of another entry.
  READS = {
    read: ->(store) { store.read("inner") },
    fetch: ->(store) { store.fetch("inner") { flunk } },
    fetch_with_tags: ->(store) { store.fetch("inner", tags: ["t"]) { flunk } },
    read_multi: ->(store) { store.read_multi("inner", "other") },
    fetch_multi: ->(store) { store.fetch_multi("inner", "other") { 1 } },
    read_in_a_thread: ->(store) { Thread.new { store.read("inner") }.value },
  }.freeze
  PLACES = %i[memory shared sqlite file].freeze

  def each_store(**options)
    PLACES.each do |place|
      Dir.mktmpdir do |dir|
        store = FetchPlaces.build(place, dir, **options)
        yield store
      ensure
        store&.close
      end
    end
    Dir.mktmpdir do |dir|
      store = Tiercel.new("shared:#{dir}/segment", "sqlite:#{dir}/cache.sqlite3", **options)
      yield store
    ensure
      store&.close
    end
  end

  READS.each do |name, way|
    [{}, { frozen: true }].each do |options|
      define_method(:"test_#{name}_in_a_block#{"_frozen" if options.any?}") do
        each_store(**options) do |store|
          { string: "value", object: [1, 2] }.each_value do |value|
            store.write("inner", value, tags: ["t"])
            2.times { store.read("inner") } # near copies and memos
            store.fetch("outer", force: false) { way.call(store) && "outer" }
            assert_equal "outer", store.read("outer"), store.inspect
            store.invalidate_tags("t")
            assert_nil store.read("outer"), store.inspect
          end
        end
      end
    end
  end

  def test_exactly_the_levels_that_contain_the_inner_entry
    each_store do |store|
      runs = []
      page = lambda do
        nested(store, runs, %w[page section list card]) do
          store.fetch("price", tags: ["product:1"]) { runs << "price"; 1 }
        end
        nested(store, runs, %w[sibling]) { "plain" }
      end
      page.call
      assert_equal %w[page section list card price sibling], runs
      runs.clear
      page.call
      assert_empty runs
      store.invalidate_tags("product:1")
      page.call
      assert_equal %w[page section list card price], runs, store.inspect
    end
  end

  def test_those_who_wait_inherit_too
    store = Tiercel.new("memory:")
    began, finish = Queue.new, Queue.new
    leader = Thread.new { store.fetch("inner", tags: ["t"]) { began << 1; finish.pop; 1 } }
    began.pop
    outer = Thread.new { store.fetch("outer") { store.fetch("inner", tags: ["t"]) { 2 } } }
    wait_until { outer.stop? }
    finish << 1
    assert_equal [1, 1], [leader.value, outer.value]
    store.invalidate_tags("t")
    assert_nil store.read("outer")
  end

  def test_tags_of_a_stale_value_are_inherited
    store = Tiercel.new("memory:", stale_while_revalidate: 600)
    store.write("inner", "old", expires_in: 60, tags: ["t"])
    travel(61) do
      store.fetch("inner") do
        Thread.new { store.fetch("outer") { store.fetch("inner") { flunk } } }.join
        "new"
      end
      assert_equal "old", store.read("outer")
      store.invalidate_tags("t")
      assert_nil store.read("outer")
    end
  end

  def test_tags_that_a_block_sets_are_inherited
    each_store do |store|
      store.fetch("outer") { store.fetch("inner") { |_, options| options.tags = ["t"] } && 1 }
      store.invalidate_tags("t")
      assert_nil store.read("outer")
    end
  end

  # The inner entry is invalidated after it was read, while the outer block runs.
  def test_an_invalidation_within_the_block
    each_store do |store|
      %w[t own].each do |tag|
        store.write("inner", 1, tags: ["t"])
        store.fetch("outer", tags: ["own"]) { store.read("inner") && store.invalidate_tags(tag) && "old" }
        assert_nil store.read("outer"), "#{store.inspect} #{tag}"
      end
      store.write("inner", 1, tags: ["t"])
      store.fetch("outer") do |_, options|
        store.read("inner")
        store.invalidate_tags("t")
        options.tags = ["t"] # its generation is newer than the one that the inner entry had
        "old"
      end
      assert_nil store.read("outer"), store.inspect
    end
  end

  def test_each_key_of_several_inherits_its_own
    each_store do |store|
      store.write_multi({ "a" => 1 }, tags: ["a"])
      store.write_multi({ "b" => 1 }, tags: ["b"])
      store.fetch_multi("page/a", "page/b") { |name| store.read(name[-1]) }
      store.invalidate_tags("a")
      assert_equal %w[page/b], store.read_multi("page/a", "page/b").keys
    end
  end

  def test_it_can_be_turned_off
    each_store do |store|
      store.write("inner", 1, tags: ["t"])
      store.fetch("outer", inherit_tags: false) { store.read("inner") }
      store.fetch("outermost") { store.fetch("outer") { flunk } }
      store.invalidate_tags("t")
      assert_equal [nil, 1, 1], [store.read("inner"), store.read("outer"), store.read("outermost")]
    end
  end

  def test_too_many_tags_are_reported_and_nothing_is_stored
    store = Tiercel.new("memory:")
    1_300.times { |index| store.write("inner/#{index}", 1, tags: ["t#{index}"]) }
    reports = capture_reports { store.fetch("outer") { 1_300.times { |index| store.read("inner/#{index}") } && 1 } }
    assert_match(/1300 tags/, reports.map { |report| report.error.message }.join)
    refute store.exist?("outer")
    store.fetch("page") { 499.times { |index| store.read("inner/#{index}") } && 1 }
    assert store.exist?("page")
  end

  def test_another_store_and_a_read_outside_of_the_block_say_nothing
    one, two = Tiercel.new("memory:"), Tiercel.new("memory:")
    [one, two].each { |store| store.write("inner", 1, tags: ["t"]) }
    one.read("inner")
    one.fetch("outer") { two.read("inner") }
    one.invalidate_tags("t")
    two.invalidate_tags("t")
    assert_equal 1, one.read("outer")
  end

  def test_an_error_after_a_read_leaves_nothing_behind
    store = Tiercel.new("memory:")
    store.write("inner", 1, tags: ["t"])
    assert_raises(IOError) { store.fetch("outer") { store.read("inner") && raise(IOError) } }
    store.fetch("outer") { "untagged" }
    store.invalidate_tags("t")
    assert_equal "untagged", store.read("outer")
  end

  private

  def nested(store, runs, names, &innermost)
    return yield if names.empty?
    store.fetch(names.join("/")) { runs << names.first; nested(store, runs, names.drop(1), &innermost) }
  end
end
