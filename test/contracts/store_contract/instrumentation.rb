# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # Each call sends one notification, with the payload that subscribers know from Rails' stores.
      module Instrumentation
        def test_events_of_read
          store.write("there", 1)
          seen = events { store.read("there"); store.read("absent") }
          assert_equal %w[read read], seen.map(&:name)
          assert_equal [key_of("there"), key_of("absent")], seen.map { |event| event[:key] }
          assert_equal [true, false], seen.map { |event| event[:hit] }
          assert_equal [store.class.name], seen.map { |event| event[:store] }.uniq
          assert_nil seen.first[:super_operation]
        end

        def test_the_options_of_the_call_are_in_the_event
          store.write("there", 1, expires_in: 60)
          read = events { store.read("there", namespace: store.namespace, version: 3) }.first
          assert_equal 3, read[:version]
          written = events { store.write("there", 1, expires_in: 60, extra: "seen") }.first
          assert_equal [60, "seen"], [written[:expires_in], written[:extra]]
        end

        def test_events_of_write_delete_and_exist
          seen = events { store.write("a", 1); store.exist?("a"); store.delete("a"); store.delete("a") }
          assert_equal %w[write exist? delete delete], seen.map(&:name)
          assert_equal [key_of("a")] * 4, seen.map { |event| event[:key] }
          assert_equal [store.class.name] * 4, seen.map { |event| event[:store] }
        end

        def test_events_of_a_fetch_that_misses
          seen = events { store.fetch("a") { 1 } }
          assert_equal %w[read generate write], seen.map(&:name)
          assert_equal [key_of("a")] * 3, seen.map { |event| event[:key] }
          assert_equal [:fetch, false], [seen[0][:super_operation], seen[0][:hit]]
        end

        def test_events_of_a_fetch_that_hits
          store.write("a", 1)
          seen = events { store.fetch("a") { 2 } }
          assert_equal %w[read fetch_hit], seen.map(&:name)
          assert_equal [:fetch, true], [seen[0][:super_operation], seen[0][:hit]]
        end

        def test_a_forced_fetch_does_not_read
          assert_equal(%w[generate write], events { store.fetch("a", force: true) { 1 } }.map(&:name))
        end

        def test_a_skipped_nil_is_not_written
          assert_equal(%w[read generate], events { store.fetch("a", skip_nil: true) { nil } }.map(&:name))
        end

        def test_events_of_read_multi
          store.write("b", 1)
          seen = events { store.read_multi("a", "b") }
          assert_equal %w[read_multi], seen.map(&:name)
          assert_equal in_events("a", "b"), seen[0][:key]
          assert_equal in_events("b"), seen[0][:hits]
          assert_equal store.class.name, seen[0][:store]
        end

        def test_events_of_fetch_multi
          store.write("b", 1)
          seen = events { store.fetch_multi("a", "b") { 2 } }
          assert_equal %w[read_multi write_multi], seen.map(&:name)
          assert_equal :fetch_multi, seen[0][:super_operation]
          assert_equal [in_events("a", "b"), in_events("b")], [seen[0][:key], seen[0][:hits]]
          assert_equal in_events("a"), seen[1][:key].keys
        end

        def test_events_of_write_multi_and_delete_multi
          seen = events { store.write_multi({ "a" => 1, "b" => 2 }); store.delete_multi(%w[a b]) }
          assert_equal %w[write_multi delete_multi], seen.map(&:name)
          assert_equal in_events("a", "b").zip([1, 2]).to_h, seen[0][:key]
          assert_equal [key_of("a"), key_of("b")], seen[1][:key]
        end

        def test_events_of_counters
          seen = events { store.increment("a", 2); store.decrement("a", 3) }
          assert_equal %w[increment decrement], seen.map(&:name)
          assert_equal [[key_of("a"), 2], [key_of("a"), 3]], seen.map { |event| [event[:key], event[:amount]] }
          assert_equal [store.class.name], seen.map { |event| event[:store] }.uniq
        end

        def test_calls_without_names_give_no_event
          seen = events { store.read_multi; store.fetch_multi { 1 }; store.write_multi({}); store.delete_multi([]) }
          assert_empty seen
        end

        def test_an_event_of_a_call_that_raises_says_so
          seen = events { assert_raises(IOError) { store.fetch("a") { raise IOError, "gone" } } }
          assert_equal %w[read generate], seen.map(&:name)
          assert_equal ["IOError", "gone"], seen[1][:exception]
        end
      end
    end
  end
end
