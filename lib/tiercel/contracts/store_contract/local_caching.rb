# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # Rails' request-local cache: mounted where it pays.
      module LocalCaching
        def test_the_middleware_is_there_where_it_pays
          assert_equal store.backend.local_cache?, store.respond_to?(:middleware)
        end

        def test_writes_go_through_the_local_cache
          needs_local_cache
          assert_equal(true, store.with_local_cache { store.write("a", 1) })
          assert_equal 1, store.read("a")
        end

        def test_the_first_read_is_remembered
          needs_local_cache
          peer = peer_of(store)
          store.write("a", "first")
          store.with_local_cache do
            assert_equal ["first", nil], [store.read("a"), store.read("b")]
            peer.write("a", "second")
            peer.write("b", "second")
            assert_equal ["first", nil], [store.read("a"), store.read("b")]
            assert_equal "first", store.fetch("a") { "absent" }
            assert_equal true, store.exist?("a")
          end
          assert_equal %w[second second], [store.read("a"), store.read("b")]
        end

        def test_writes_and_deletes_are_remembered
          needs_local_cache
          peer = peer_of(store)
          store.with_local_cache do
            store.write("a", "mine")
            store.write_multi({ "b" => 1 })
            peer.delete_multi(%w[a b])
            assert_equal({ "a" => "mine", "b" => 1 }, store.read_multi("a", "b"))
            store.delete("a")
            store.delete_multi(["b"])
            assert_equal({}, store.read_multi("a", "b"))
            assert_nil store.read("a")
          end
        end

        def test_a_write_that_lost_is_not_remembered
          needs_local_cache
          peer = peer_of(store)
          store.with_local_cache do
            assert_nil store.read("a")
            peer.write("a", "theirs")
            assert_equal false, store.write("a", "mine", unless_exist: true)
            assert_equal "theirs", store.read("a")
          end
        end

        def test_objects_of_the_local_cache_are_the_callers_own
          needs_local_cache
          store.with_local_cache do
            written = +"text"
            store.write("a", written)
            written << "!"
            store.write("b", { "list" => [] })
            store.read("a") << "?"
            store.read("b")["list"] << 1
            assert_equal "text", store.read("a")
            assert_equal({ "list" => [] }, store.read("b"))
          end
        end

        def test_ends_and_versions_in_the_local_cache
          needs_local_cache
          store.with_local_cache do
            store.write("a", 1, expires_in: 60)
            store.write(Record.new("b", 1), 2)
            assert_equal [1, nil], [store.read("a"), store.read(Record.new("b", 2))]
            assert_equal 2, store.read(Record.new("b", 1))
            later(61) { assert_nil store.read("a") }
          end
        end

        def test_counters_in_the_local_cache
          needs_local_cache
          peer = peer_of(store)
          store.with_local_cache do
            store.write("n", 1, raw: true)
            peer.write("n", 5, raw: true)
            assert_equal 6, store.increment("n")
            assert_equal "6", store.read("n", raw: true)
            peer.write("n", 8, raw: true)
            assert_equal 7, store.decrement("n")
            assert_equal [7, 7], [store.read_counter("n"), peer.read_counter("n")]
          end
        end

        def test_clear_and_cleanup_empty_the_local_cache
          needs_local_cache
          store.with_local_cache do
            store.write("a", 1)
            store.clear
            assert_nil store.read("a")
          end
          peer = peer_of(store)
          store.with_local_cache do
            store.write("a", 1)
            peer.write("a", 2)
            store.cleanup
            assert_equal 2, store.read("a")
          end
        end

        def test_delete_matched_empties_the_local_cache
          needs_local_cache
          needs_scan
          store.with_local_cache do
            store.write_multi({ "aa" => 1, "ab" => 2, "b" => 3 })
            store.delete_matched("a*")
            assert_equal({ "b" => 3 }, store.read_multi("aa", "ab", "b"))
          end
        end

        def test_fetch_multi_in_the_local_cache
          needs_local_cache
          store.with_local_cache do
            store.write("a", 1)
            assert_equal false, store.exist?("b")
            assert_equal({ "b" => 2, "a" => 1, "c" => 2 }, store.fetch_multi("b", "a", "c") { 2 })
          end
          assert_equal({ "a" => 1, "b" => 2, "c" => 2 }, store.read_multi("a", "b", "c"))
        end

        def test_the_event_says_which_cache_answered
          needs_local_cache
          store.write("a", 1)
          store.with_local_cache do
            stores = events { 2.times { store.read("a") } }.map { |event| event[:store] }
            assert_equal [store.class.name, "ActiveSupport::Cache::Strategy::LocalCache::LocalStore"], stores
          end
        end

        def test_each_thread_has_its_own
          needs_local_cache
          store.with_local_cache do
            store.write("a", 1)
            Thread.new { store.write("a", 2) }.join
            assert_equal 1, store.read("a")
          end
          assert_equal 2, store.read("a")
        end

        private

        def needs_local_cache
          skip "#{store.backend} needs no local cache" unless store.backend.local_cache?
        end
      end
    end
  end
end
