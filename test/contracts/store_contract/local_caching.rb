# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # Rails' request-local cache, which keeps something only in front of backends that gain from it.
      module LocalCaching
        def test_a_request_has_a_cache_where_it_pays
          here = store.with_local_cache { !store.local_cache.nil? }
          assert_equal [store.backend.local_cache?] * 2, [here, store.respond_to?(:middleware)]
          assert_nil store.local_cache
        end

        def test_the_first_read_is_remembered
          needs_local_cache
          peer = peer_of(store)
          store.write("a", "first")
          store.with_local_cache do
            assert_equal ["first", nil], [store.read("a"), store.read("b")]
            peer.write("a", "second")
            store.send(:bypass_local_cache) { store.write("b", "second") } # as Rails' own tests do
            assert_equal ["first", nil], [store.read("a"), store.read("b")]
            assert_equal "first", store.fetch("a") { "absent" }
            assert_equal true, store.exist?("a")
          end
          assert_equal %w[second second], [store.read("a"), store.read("b")]
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

        def test_a_computed_value_that_was_not_stored_is_not_remembered
          needs_local_cache
          peer = peer_of(store)
          store.with_local_cache do
            assert_equal("old", store.fetch("a") { peer.delete("a"); "old" })
            assert_nil store.read("a")
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
            store.delete_matched(/a/)
            assert_nil store.read("a")
          end
        end

        def test_so_they_are_without_a_coder
          needs_local_cache
          plain = new_store(coder: nil)
          written = { "list" => [] }
          plain.with_local_cache do
            plain.write("a", written)
            plain.write_multi({ "b" => written })
            plain.fetch("c") { written }
            written["list"] << "the writer's"
            %w[a b c].each do |name|
              plain.read(name)["list"] << "a reader's"
              plain.fetch(name) { flunk }["list"] << "another's"
              plain.read_multi(name)[name]["list"] << "a third one's"
              assert_equal({ "list" => [] }, plain.read(name), name)
            end
          end
        end

        def test_ends_and_versions_in_the_local_cache
          needs_local_cache
          store.with_local_cache do
            store.write("a", 1, expires_in: 60)
            store.write(Record.new("b", 1), 2)
            assert_equal [1, nil], [store.read("a"), store.read(Record.new("b", 2))]
            assert_equal 2, store.read(Record.new("b", 1))
            assert_equal [true, 3], [store.cas("a", expires_in: 60) { 3 }, store.read("a")]
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

        def test_fetch_multi_in_the_local_cache
          needs_local_cache
          store.with_local_cache do
            store.write("a", 1)
            assert_equal false, store.exist?("b")
            assert_equal({ "b" => 2, "a" => 1, "c" => 2 }, store.fetch_multi("b", "a", "c") { 2 })
          end
          assert_equal({ "a" => 1, "b" => 2, "c" => 2 }, store.read_multi("a", "b", "c"))
        end

        # Rails' own implementation returned expired entries and entries of another version (rails#54408).
        def test_multi_reads_mind_ends_and_versions_of_what_is_remembered
          needs_local_cache
          store.with_local_cache do
            store.write_multi({ "a" => 1, Record.new("b", 1) => 2 }, expires_in: 60)
            assert_equal({ "a" => 1 }, store.read_multi("a", Record.new("b", 2)))
            assert_equal({ Record.new("b", 2) => 3 }, store.fetch_multi(Record.new("b", 2)) { 3 })
            later(61) do
              assert_equal({}, store.read_multi("a", Record.new("b", 1)))
              peer_of(store).write("a", 4)
              assert_equal 4, store.read("a")
            end
          end
        end

        # Rails' own implementation returned nil (rails#54497).
        def test_multi_reads_ask_again_for_what_was_not_there
          needs_local_cache
          peer = peer_of(store)
          store.with_local_cache do
            assert_equal [false, nil], [store.exist?("a"), store.read("b")]
            peer.write_multi({ "a" => 1, "b" => 2 })
            assert_equal({ "a" => 1, "b" => 2 }, store.read_multi("a", "b"))
            assert_equal({ "b" => 2, "a" => 1 }, store.fetch_multi("b", "a") { flunk "it is there" })
          end
        end

        def test_what_a_failed_write_meant_is_not_remembered
          needs_local_cache
          store.with_local_cache do
            store.write("a", 1)
            assert_raises(TypeError) { store.write_multi({ "a" => 2, "b" => -> {} }) }
            assert_equal({ "a" => 1 }, store.read_multi("a", "b"))
          end
        end

        def test_a_copy_of_the_store_has_the_same_local_cache
          needs_local_cache
          peer = peer_of(store)
          copy = store.dup
          store.with_local_cache do
            store.write("a", 1)
            peer.write("a", 2)
            assert_equal 1, copy.read("a")
            copy.write("a", 3)
            assert_equal 3, store.read("a")
          end
        end

        private

        def needs_local_cache
          skip "#{store.backend} needs no local cache" unless store.backend.local_cache?
        end
      end
    end
  end
end
