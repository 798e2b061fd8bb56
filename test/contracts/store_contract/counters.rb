# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # increment, decrement, read_counter, write_counter.
      module Counters
        def test_an_absent_counter_begins_at_the_amount
          assert_equal 1, store.increment("up")
          assert_equal 100, store.increment("up by hundred", 100)
          assert_equal(-1, store.decrement("down"))
          assert_equal(-100, store.decrement("down by hundred", 100))
        end

        def test_counting
          assert_equal [1, 2, 12, 11, 1, 1], [store.increment("n"), store.increment("n"), store.increment("n", 10),
                                              store.decrement("n"), store.decrement("n", 10), store.increment("n", 0)]
          assert_equal(-4, store.increment("n", -5))
          assert_equal(-4, store.read_counter("n"))
        end

        def test_write_counter_and_read_counter
          assert_nil store.read_counter("n")
          assert_equal true, store.write_counter("n", 41)
          assert_equal 41, store.read_counter("n")
          assert_equal 42, store.increment("n")
          assert_equal true, store.write_counter("n", "7")
          assert_equal 7, store.read_counter("n")
        end

        def test_raw_numbers_are_counters
          store.write("n", 1, raw: true)
          assert_equal 2, store.increment("n")
          assert_equal "2", store.read("n", raw: true)
          assert_equal 3, store.increment("n")
        end

        def test_a_counter_reads_as_an_integer_without_raw
          store.increment("n", 3)
          assert_equal 3, store.read("n")
          assert_equal({ "n" => 3 }, store.read_multi("n"))
          assert_equal(3, store.fetch("n") { flunk "it is there" })
          assert_equal true, store.exist?("n")
        end

        def test_an_integer_that_was_written_as_a_value_becomes_a_counter
          store.write("n", 5)
          assert_equal 6, store.increment("n")
          assert_equal 4, store.decrement("n", 2)
          assert_equal 4, store.read("n")
        end

        def test_it_keeps_its_end
          needs_own_clock
          store.write("plain", 5, expires_in: 60)
          store.write("raw", 5, raw: true, expires_in: 60)
          store.write_counter("counter", 5, expires_in: 60)
          %w[plain raw counter].each { |name| assert_equal 6, store.increment(name, 1, expires_in: 6_000) }
          later(40) { assert_equal [6, 6, 6], %w[plain raw counter].map { |name| store.read_counter(name) } }
          later(61) { assert_equal [1, 1, 1], %w[plain raw counter].map { |name| store.increment(name) } }
        end

        def test_a_counter_that_is_made_has_the_end_that_is_asked_for
          needs_own_clock
          store.increment("keywords", 1, expires_in: 60)
          store.increment("hash", 1, { namespace: "own" }, expires_in: 60)
          store.increment("hash", 1, { expires_in: 6_000 }, namespace: "keywords")
          store.increment("endless")
          later(61) do
            assert_nil store.read_counter("keywords")
            assert_nil store.read_counter("hash", namespace: "own")
            assert_equal 1, store.read_counter("hash", namespace: "keywords")
            assert_equal 1, store.read_counter("endless")
          end
        end

        def test_the_end_of_the_store_is_that_of_its_counters
          needs_own_clock
          ending = new_store(expires_in: 60)
          ending.increment("n")
          ending.write_counter("m", 1)
          later(40) { assert_equal [2, 1], [ending.increment("n"), ending.read_counter("m")] }
          later(61) { assert_equal [nil, nil], [ending.read_counter("n"), ending.read_counter("m")] }
        end

        def test_a_counter_whose_end_is_now
          needs_own_clock
          assert_equal 3, store.increment("n", 3, expires_in: 0)
          later(1) { assert_equal [nil, 3], [store.read_counter("n"), store.increment("n", 3, expires_in: 0)] }
        end

        def test_an_ended_value_counts_as_absent
          store.write("n", "not a number", expires_in: 60)
          later(61) { assert_equal 1, store.increment("n") }
        end

        def test_what_is_no_number_is_left_alone
          store.write("text", "seven")
          store.write("raw text", "seven", raw: true)
          errors = reports { assert_nil store.increment("text") }
          assert_equal [Tiercel::NotACounter], errors.map(&:class)
          reports { assert_nil store.decrement("raw text") }
          assert_equal "seven", store.read("text")
          assert_equal "seven", store.read("raw text", raw: true)
        end

        def test_the_amount_has_to_be_a_number
          ["many", "2", nil, 1.5].each do |amount|
            error = assert_raises(ArgumentError) { store.increment("n", amount) }
            assert_match(/increment: expected an amount that is an Integer, got #{Regexp.escape(amount.inspect)}/,
                         error.message)
            assert_raises(ArgumentError) { store.decrement("n", amount) }
          end
          assert_equal false, store.exist?("n")
        end

        def test_a_count_stays_in_the_signed_64_bit_range
          store.write_counter("n", (2**63) - 1)
          errors = reports { assert_nil store.increment("n") }
          assert_equal [Tiercel::NotACounter], errors.map(&:class)
          assert_equal (2**63) - 1, store.read_counter("n")
        end
      end
    end
  end
end
