# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "support/ruby_memory"

# Fetches that name tags, on backends that do not compare tags themselves: the fast path serves the usual hit from the
# frame's bytes, and every other entry has the same result as with Rails' own steps.
class StoreTaggedTest < Tiercel::TestCase
  URL = "untagged:"

  # A backend that leaves tags to the store.
  class Untagged < RubyMemory
    def self.option_names = []
    def self.build(_url, _options) = new
  end

  Tiercel::Backends::REGISTRY.register(:untagged) { Untagged }

  def test_a_usual_hit_decodes_no_frame_in_ruby
    each_store do |store|
      [["a"], %w[a b], [:a, "größe"], ["a", "\xFF".b]].each do |tags|
        store.fetch("name", tags:) { [1] }
        beside_a_running_block do
          assert_equal [1], without_ruby_frames { store.fetch("name", tags:) { flunk } }, tags.inspect
        end
        store.invalidate_tags(tags.last)
        assert_equal [2], store.fetch("name", tags:) { [2] }
        store.delete("name")
      end
    end
  end

  def test_other_tags_than_the_entry_has
    each_store do |store|
      [[], %w[a b], %w[b a], ["a"], %w[a b c], ["c"]].each do |tags|
        store.fetch("name", tags: %w[a b]) { 1 }
        assert_equal 1, store.fetch("name", tags:) { flunk }, tags.inspect
        store.invalidate_tags("b")
        assert_equal 2, store.fetch("name", tags:) { 2 }, tags.inspect
        store.delete("name")
      end
    end
  end

  private

  def each_store
    [{}, { namespace: "ns" }, { namespace: -> { "proc" } }].each do |options|
      store = Tiercel.new(URL, lease: true, checksum: true, **options)
      yield store
    ensure
      store&.close
    end
  end

  # Only a block's own reads pass on their tags.
  def beside_a_running_block
    running = Queue.new
    ending = Queue.new
    other = Thread.new { Tiercel.new("memory:").fetch("other") { running << 1; ending.pop } }
    running.pop
    yield
  ensure
    ending << 1
    other&.join
  end

  # Fails if the block parses a frame in Ruby.
  def without_ruby_frames(&)
    Tiercel::Frame.stub(:parse, ->(_) { flunk "a frame was parsed in Ruby: #{caller.grep(%r{/lib/}).first(8)}" }, &)
  end
end
