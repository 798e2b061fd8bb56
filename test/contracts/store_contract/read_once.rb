# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # `read(name, delete: true)`, which Rails 8.2 has for Redis: here for every backend and every Rails version.
      module ReadOnce
        def test_a_read_that_deletes
          [["text", {}], [[1, { a: 2 }], {}], ["7", { raw: true }]].each do |value, options|
            store.write("name", value, **options)
            assert_equal true, store.exist?("name", delete: true, **options)
            assert_equal value, store.read("name", delete: true, **options)
            assert_nil store.read("name", **options)
            assert_equal false, store.exist?("name")
            assert_nil store.read("name", delete: true, **options)
          end
        end

        def test_a_read_that_deletes_takes_no_other_name
          store.write_multi("one" => 1, "two" => 2)
          assert_nil store.read("three", delete: true)
          assert_equal 1, store.read("one", delete: true)
          assert_equal({ "two" => 2 }, store.read_multi("one", "two"))
        end

        def test_a_read_that_deletes_gives_no_expired_value
          store.write("name", 1, expires_in: 60)
          later(61) { assert_nil store.read("name", delete: true) }
        end

        def test_a_read_that_deletes_takes_no_lease
          assert_equal(1, store.fetch("name") { store.read("name", delete: true) || 1 })
          assert_equal 1, store.read("name")
        end

        def test_after_a_read_that_deletes_the_name_is_free
          store.write("name", 1)
          store.read("name", delete: true)
          assert_equal 2, store.fetch("name") { 2 }
          store.read("name", delete: true)
          assert_equal true, store.write("name", 3, unless_exist: true)
          assert_equal 3, store.read("name")
        end

        def test_one_of_several_callers_gets_the_value
          20.times do |round|
            store.write("name", round)
            read = Array.new(4) { Thread.new { store.read("name", delete: true) } }.map(&:value)
            assert_equal [round], read.compact
          end
        end

        def test_a_read_that_deletes_in_the_local_cache
          return skip("no local cache here") unless store.backend.local_cache?
          peer = peer_of(store)
          store.with_local_cache do
            store.write("name", "old")
            peer.write("name", "new")
            assert_equal "old", store.read("name")
            assert_equal "new", store.read("name", delete: true)
            assert_nil store.read("name")
          end
          assert_nil store.read("name")
        end
      end
    end
  end
end
