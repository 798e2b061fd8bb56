# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # Each call sends one notification. test/store/as_rails_test.rb compares the payloads with those of Rails' store.
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
