# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # `cas` and `cas_multi`.
      module CompareAndSet
        def test_cas_replaces_a_value
          store.write("list", [1])
          assert_equal true, store.cas("list") { |list| list + [2] }
          assert_equal [1, 2], store.read("list")
          store.write("none", nil)
          assert_equal true, store.cas("none") { |value| value.inspect }
          assert_equal "nil", store.read("none")
        end

        def test_cas_of_a_missing_or_expired_entry_yields_nothing
          assert_nil store.cas("a") { flunk }
          store.write("a", 1, expires_in: 10)
          later(11) { assert_nil store.cas("a") { flunk } }
          store.write("b", 1, version: 1)
          assert_nil store.cas("b", version: 2) { flunk }
          store.write("c", 1, tags: "tag")
          store.invalidate_tags("tag")
          assert_nil store.cas("c") { flunk }
        end

        def test_cas_fails_if_the_entry_has_changed
          store.write("a", 1)
          assert_equal(false, store.cas("a") { store.write("a", 2) && 3 })
          assert_equal 2, store.read("a")
          assert_equal(false, store.cas("a") { store.delete("a") && 3 })
          assert_nil store.read("a")
        end

        def test_cas_sees_the_changes_of_another_process
          store.write("a", 1)
          other = peer_of(store)
          assert_equal(false, store.cas("a") { other.write("a", 2) && 3 })
          assert_equal(true, other.cas("a") { |value| value + 1 })
          assert_equal 3, other.read("a")
        end

        def test_cas_takes_the_options_of_a_write
          store.write("a", 1)
          store.cas("a", expires_in: 10, tags: "tag") { 2 }
          later(11) { assert_nil store.read("a") }
          store.write("a", 1)
          store.cas("a", tags: "tag") { 2 }
          store.invalidate_tags("tag")
          assert_nil store.read("a")
          store.write("a", 1)
          assert_equal true, store.cas("a", tags: "tag") { store.invalidate_tags("tag") && 2 }
          assert_nil store.read("a"), "invalidated while the block ran"
        end

        def test_cas_of_raw_bytes
          store.write("a", "1", raw: true)
          assert_equal true, store.cas("a", raw: true) { |bytes| "#{bytes}2" }
          assert_equal "12", store.read("a", raw: true)
        end

        def test_a_block_of_cas_may_raise_and_leave
          store.write("a", 1)
          assert_raises(IOError) { store.cas("a") { raise IOError } }
          assert_equal(5, store.cas("a") { break 5 })
          assert_equal 1, store.read("a")
        end

        def test_cas_multi
          store.write_multi({ "a" => 1, "b" => 2, "c" => 3 })
          seen = nil
          done = store.cas_multi("a", "b", "c", "d", expires_in: 60) do |values|
            seen = values.dup
            store.write("b", 20)
            { "a" => 10, "b" => 21, "d" => 4 }
          end
          assert_equal({ "a" => 1, "b" => 2, "c" => 3 }, seen)
          assert_equal false, done
          assert_equal({ "a" => 10, "b" => 20, "c" => 3 }, store.read_multi("a", "b", "c", "d"))
          done = store.cas_multi("a", "c", { expires_in: 60 }) { |values| values.transform_values { |n| n + 1 } }
          assert_equal true, done
          assert_equal({ "a" => 11, "c" => 4 }, store.read_multi("a", "c"))
          assert_nil store.cas_multi { flunk }
          assert_equal(true, store.cas_multi("x") { |values| (values == {}) && nil })
        end
      end
    end
  end
end
