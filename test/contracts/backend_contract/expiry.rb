# frozen_string_literal: true

module Tiercel
  module Contracts
    module BackendContract
      # Tests of TTLs: every method treats an expired entry as absent.
      module Expiry
        # Remote backends count in whole seconds.
        TTL = 1

        def test_an_entry_ends
          backend.set("key", "value", TTL)
          backend.set_multi({ "other" => "value" }, TTL)
          assert_equal "value".b, backend.get("key")
          later(TTL + 1) do
            assert_nil backend.get("key")
            assert_nil backend.get_with_token("key")
            assert_empty backend.get_multi(%w[key other])
            refute_includes backend.scan.map(&:b), "key".b if backend.scannable?
          end
        end

        def test_an_entry_that_ended_is_not_there_to_delete_or_touch
          backend.set("deleted", "value", TTL)
          backend.set("touched", "value", TTL)
          later(TTL + 1) do
            assert_equal false, backend.delete("deleted")
            assert_equal false, backend.touch("touched", 60)
            assert_nil backend.get("touched")
          end
        end

        def test_an_entry_that_ended_can_be_added
          backend.set("key", "old", TTL)
          later(TTL + 1) do
            assert_equal true, backend.add("key", "new")
            assert_equal "new".b, backend.get("key")
          end
        end

        def test_an_entry_that_ended_is_gone_for_compare_and_set
          backend.set("key", "old", TTL)
          _, token = backend.get_with_token("key")
          later(TTL + 1) { assert_equal false, backend.compare_and_set("key", "new", token) }
        end

        def test_without_ttl_an_entry_stays
          backend.set("key", "value")
          later(TTL + 1) { assert_equal "value".b, backend.get("key") }
        end

        def test_set_replaces_the_ttl
          backend.set("key", "value", TTL)
          backend.set("key", "value")
          later(TTL + 1) { assert_equal "value".b, backend.get("key") }
        end

        def test_a_long_ttl
          backend.set("key", "value", 90 * 86_400)
          assert_equal "value".b, backend.get("key")
        end

        def test_touch_moves_the_end_and_keeps_the_bytes
          backend.set("longer", "value", TTL)
          backend.set("endless", "value", TTL)
          backend.set("shorter", "value", 60)
          assert_equal true, backend.touch("longer", 60)
          assert_equal true, backend.touch("endless", nil)
          assert_equal true, backend.touch("shorter", TTL)
          assert_equal false, backend.touch("absent", 60)
          later(TTL + 1) do
            assert_equal "value".b, backend.get("longer")
            assert_equal "value".b, backend.get("endless")
            assert_nil backend.get("shorter")
          end
        end

        def test_a_counter_keeps_the_end_it_was_created_with
          backend.increment("counter", 1, TTL)
          backend.increment("counter", 1, 60)
          assert_equal "2".b, backend.get("counter")
          later(TTL + 1) do
            assert_nil backend.get("counter")
            assert_equal 5, backend.increment("counter", 5)
          end
        end
      end
    end
  end
end
