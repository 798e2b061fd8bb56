# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # clear, cleanup, stats, close.
      module Maintenance
        def test_clear_empties_the_cache
          unspaced = new_store(namespace: nil)
          unspaced.write("a", 1)
          unspaced.write("b", 2, namespace: "other")
          unspaced.increment("c")
          assert_nil unspaced.clear
          assert_equal({}, unspaced.read_multi("a", "c"))
          assert_nil unspaced.read("b", namespace: "other")
          unspaced.write("a", 3)
          assert_equal 3, unspaced.read("a")
        end

        def test_clear_with_a_namespace_empties_only_that
          spaced = new_store(namespace: "space")
          spaced.write("a", 1)
          spaced.increment("b")
          spaced.write("a", 2, namespace: "spaceship")
          spaced.write("a", 3, namespace: nil)
          assert_nil spaced.clear
          assert_equal({}, spaced.read_multi("a", "b"))
          assert_equal 2, spaced.read("a", namespace: "spaceship")
          assert_equal 3, spaced.read("a", namespace: nil)
        end

        def test_clear_with_a_namespace_of_the_call
          store.write("a", 1, namespace: "one")
          store.write("a", 2, namespace: "two")
          store.clear(namespace: "one")
          assert_nil store.read("a", namespace: "one")
          assert_equal 2, store.read("a", namespace: "two")
          store.clear(namespace: -> { "two" })
          assert_nil store.read("a", namespace: "two")
        end

        def test_cleanup_leaves_what_has_not_ended
          store.write("ended", 1, expires_in: 60)
          store.write("there", 2, expires_in: 6_000)
          later(1_000) do
            store.cleanup
            assert_equal({ "there" => 2 }, store.read_multi("ended", "there"))
          end
        end

        def test_the_event_of_cleanup
          store.write_multi({ "a" => 1, "b" => 2 })
          seen = events { store.cleanup }
          assert_equal %w[cleanup], seen.map(&:name)
          assert seen[0].payload.key?(:size)
          assert_equal 2, seen[0][:size] if store.backend.in_memory?
        end

        def test_stats_count
          before = store.stats
          assert_kind_of Hash, before
          store.write_multi({ "a" => 1, "b" => 2 })
          store.read("a")
          store.read("absent")
          after = store.stats
          { hits: 1, misses: 1 }.each do |name, least|
            assert_operator after[name] - before[name], :>=, least, name.to_s if before[name]
          end
          assert_operator after[:bytes], :>, 0 if after[:bytes]
          assert_operator after[:entries], :>=, 2 if after[:entries]
        end

        def test_a_closed_store_can_be_used_again
          assert_nil store.close
          assert_equal true, store.write("a", 1)
          assert_equal 1, store.read("a")
          assert_nil store.close
        end
      end
    end
  end
end
