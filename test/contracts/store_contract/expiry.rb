# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # The expiry of an entry: `expires_in` (seconds), `expires_at` (Time).
      module Expiry
        def test_an_entry_ends
          store.write("name", "value", expires_in: 60)
          later(40) { assert_equal "value", store.read("name") }
          later(61) do
            assert_nil store.read("name")
            assert_equal false, store.exist?("name")
            assert_equal({}, store.read_multi("name"))
          end
        end

        def test_a_new_write_has_a_new_end
          store.write("name", 1, expires_in: 10)
          store.write("name", 2, expires_in: 30)
          later(20) { assert_equal 2, store.read("name") }
          store.write("name", 3, expires_in: nil)
          later(3_000) { assert_equal 3, store.read("name") }
        end

        def test_the_end_of_the_store_and_of_the_call
          ending = new_store(expires_in: 60)
          ending.write("default", 1)
          ending.write("longer", 2, expires_in: 120)
          ending.write("endless", 3, expires_in: nil)
          ending.fetch("fetched") { 4 }
          ending.write_multi({ "multi" => 5 })
          names = %w[default longer endless fetched multi]
          later(40) { assert_equal [1, 2, 3, 4, 5], ending.read_multi(*names).values }
          later(61) { assert_equal({ "longer" => 2, "endless" => 3 }, ending.read_multi(*names)) }
          later(121) { assert_equal({ "endless" => 3 }, ending.read_multi(*names)) }
        end

        def test_expires_at
          store.write("name", 1, expires_at: Time.now + 60)
          later(40) { assert_equal 1, store.read("name") }
          later(61) { assert_nil store.read("name") }
        end

        def test_names_of_the_option_that_rails_knows_too
          store.write("expire_in", 1, expire_in: 60)
          store.write("expired_in", 1, expired_in: 60)
          later(40) { assert_equal 2, store.read_multi("expire_in", "expired_in").size }
          later(61) { assert_equal({}, store.read_multi("expire_in", "expired_in")) }
        end

        def test_fractions_and_durations
          store.write("fraction", 1, expires_in: 20.5)
          store.write("duration", 1, expires_in: ActiveSupport::Duration.minutes(1))
          later(10) { assert_equal 1, store.read("fraction") }
          later(20.6) { assert_equal({ "duration" => 1 }, store.read_multi("fraction", "duration")) }
          later(61) { assert_nil store.read("duration") }
        end

        def test_an_end_that_is_now
          assert_equal true, store.write("name", 1, expires_in: 0)
          assert_nil store.read("name")
          assert_equal("made", store.fetch("name", expires_in: 0) { "made" })
          assert_equal("again", store.fetch("name", expires_in: 0) { "again" })
        end

        # Rails' MemoryStore and FileStore also treat these values as no expiry.
        def test_an_end_that_never_comes
          [Float::INFINITY, Float::NAN, Float::MAX].each do |never|
            check_calls_without_an_end(store, expires_in: never)
            check_calls_without_an_end(build_store(expires_in: never))
          end
          assert store.write("waits", "value", expires_in: 10, race_condition_ttl: Float::INFINITY)
          assert_equal "value", store.read("waits")
        end

        def check_calls_without_an_end(store, **options)
          store.delete_multi(%w[a b c d e f count raw])
          assert store.write("a", [1], **options)
          assert store.write("b", "text", **options, unless_exist: true)
          assert store.write_multi({ "c" => 1 }, **options)
          assert_equal 1, store.fetch("d", **options) { 1 }
          assert_equal({ "e" => "e", "f" => "f" }, store.fetch_multi("e", "f", **options) { |name| name })
          assert_equal [1, 2], Array.new(2) { store.increment("count", 1, **options) }
          assert store.write("raw", "raw", **options, raw: true)
          later(1_000_000) { check_what_was_written(store) }
        end

        def check_what_was_written(store)
          assert_equal({ "a" => [1], "b" => "text", "c" => 1, "d" => 1, "e" => "e", "f" => "f" },
                       store.read_multi(*%w[a b c d e f]))
          assert_equal [3, "raw"], [store.increment("count"), store.read("raw", raw: true)]
        end
        private :check_calls_without_an_end, :check_what_was_written

        def test_both_ends_and_a_time_as_expires_in_are_errors
          { /expires_in.*expires_at/ => { expires_in: 60, expires_at: Time.now + 60 },
            /expires_at/ => { expires_in: Time.now + 60 } }.each do |message, ends|
            assert_match(message, assert_raises(ArgumentError) { store.write("name", 1, **ends) }.message)
            assert_nil store.read("name")
          end
        end

        def test_a_negative_end_is_reported_and_logged
          errors = log = nil
          errors = reports { log = log_of { store.write("name", 1, expires_in: -60) } }
          assert_equal [ArgumentError], errors.map(&:class)
          assert_match(/cannot be negative: -60/, errors.first.message)
          assert_match(/ArgumentError: .*cannot be negative/, log)
          assert_equal 1, store.read("name")
        end

        def test_a_negative_end_raises_where_the_application_wants_it
          raising_for_invalid_ends do
            assert_raises(ArgumentError) { store.write("name", 1, expires_in: -60) }
            assert_raises(ArgumentError) { store.fetch("name", expires_in: -60) { 1 } }
          end
          assert_nil store.read("name")
        end

        private

        def raising_for_invalid_ends
          before = ActiveSupport::Cache::Store.raise_on_invalid_cache_expiration_time
          ActiveSupport::Cache::Store.raise_on_invalid_cache_expiration_time = true
          yield
        ensure
          ActiveSupport::Cache::Store.raise_on_invalid_cache_expiration_time = before
        end
      end
    end
  end
end
