# frozen_string_literal: true

module Tiercel
  module Contracts
    module TagsContract
      # `clear: :generation`: clears a namespace without listing its keys.
      module Clearing
        def test_clear_by_generation_empties_a_namespace_and_no_other
          clearing = @store = clearing_store
          clearing.write("other", "stays", namespace: nil)
          clearing.write_multi({ "a" => 1, "b" => 2 }, tags: ["tag"])
          clearing.write("count", 5, raw: true)
          clearing.write("a", 3, namespace: "another")
          assert_nil clearing.clear
          assert_empty clearing.read_multi("a", "b")
          assert_equal [nil, false, 1, 3], [clearing.read("a"), clearing.exist?("b"), clearing.increment("count"),
                                            clearing.read("a", namespace: "another")]
          clearing.write("a", "new")
          assert_equal "new", clearing.fetch("a") { flunk }
          clearing.clear(namespace: "another")
          assert_equal ["new", nil], [clearing.read("a"), clearing.read("a", namespace: "another")]
          assert_equal "stays", clearing.read("other", namespace: nil)
        end

        { with_leases: true, without: false }.each do |kind, lease|
          define_method(:"test_what_is_computed_before_a_clear_is_not_there_after_it_#{kind}") do
            clearing = @store = clearing_store(lease: lease)
            assert_equal("old", clearing.fetch("a") { Thread.new { clearing.clear }.join; "old" })
            clearing.fetch_multi("b", "c") { Thread.new { clearing.clear }.join; "old" }
            clearing.fetch("d") { |_, options| options.expires_in = 60; Thread.new { clearing.clear }.join; "old" }
            assert_empty clearing.read_multi("a", "b", "c", "d")
          end
        end

        def test_another_store_sees_it_within_clear_visibility
          others = clearing_store(clear_visibility: 0.05)
          clearing = clearing_store
          [clearing, others].each { |one| one.write("a", 1) }
          assert_equal 1, others.read("a")
          clearing.clear
          assert_nil clearing.read("a")
          ends = Clock.monotonic + 5
          sleep 0.01 until others.read("a").nil? || Clock.monotonic > ends
          assert_nil others.read("a")
          others.write("a", 2)
          assert_equal 2, clearing.read("a")
        end

        def test_tags_are_invalidated_in_every_generation
          clearing = @store = clearing_store
          clearing.write("a", 1, tags: ["tag"])
          clearing.fetch("b") { |_, options| options.tags = ["tag"]; 1 }
          clearing.fetch_multi("c", tags: ["tag"]) { 1 }
          clearing.invalidate_tags("tag")
          assert_empty clearing.read_multi("a", "b", "c")
        end

        def test_who_has_not_seen_a_clear_invalidates_what_was_written_since
          others = clearing_store(clear_visibility: 600)
          clearing = clearing_store
          [clearing, others].each { |one| one.write("a", 1, tags: ["tag"]) }
          clearing.clear
          clearing.write("a", 2, tags: ["tag"])
          others.invalidate_tags("tag")
          assert_nil clearing.read("a")
        end

        def test_a_namespace_may_be_a_proc_and_deletes_are_within_it
          tenant = "one"
          clearing = @store = clearing_store(namespace: -> { tenant })
          clearing.write("a", 1)
          tenant = "two"
          clearing.write_multi({ "a" => 2, "b" => 2 })
          clearing.clear
          assert_nil clearing.read("a")
          tenant = "one"
          assert_equal [1, true, nil], [clearing.read("a"), clearing.delete("a"), clearing.read("a")]
        end

        def test_within_a_request_it_is_seen_too
          return assert_equal(false, store.backend.local_cache?) unless store.backend.local_cache?
          clearing = clearing_store
          clearing.with_local_cache do
            clearing.write("a", 1)
            clearing.clear
            assert_nil clearing.read("a")
          end
        end

        def test_what_clear_may_be
          [{ clear: :all }, { clear_visibility: 1 }, { clear: :generation, clear_visibility: 0 }].each do |options|
            assert_raises(ConfigurationError) { build_store(**options) }
          end
        end

        private

        def clearing_store(**options) = new_store(namespace: "ns", clear: :generation, **options)
      end
    end
  end
end
