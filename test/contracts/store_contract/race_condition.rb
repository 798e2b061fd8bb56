# frozen_string_literal: true

require "minitest/mock"

module Tiercel
  module Contracts
    module StoreContract
      # `race_condition_ttl`: while one caller recomputes an expired value, others get the expired one for that many
      # seconds.
      module RaceCondition
        def test_others_get_the_ended_value_while_one_makes_it_anew
          store.write("name", "old", expires_in: 60)
          later(61) do
            result = store.fetch("name", race_condition_ttl: 10) do
              assert_equal "old", store.read("name")
              assert_equal("old", store.fetch("name", race_condition_ttl: 10) { flunk "one caller makes it" })
              "new"
            end
            assert_equal "new", result
            assert_equal "new", store.read("name")
          end
        end

        def test_not_after_its_time
          store.write("name", "old", expires_in: 60)
          later(71) do
            result = store.fetch("name", race_condition_ttl: 10) { assert_nil store.read("name"); "new" }
            assert_equal "new", result
          end
        end

        def test_without_leases
          store.write("name", "old", expires_in: 60)
          later(61) do
            store.fetch("name", race_condition_ttl: 10, lease: false) { assert_equal "old", store.read("name") }
          end
        end

        def test_a_block_that_raises_leaves_the_ended_value_for_a_while
          store.write("name", "old", expires_in: 60)
          later(69) { assert_raises(IOError) { store.fetch("name", race_condition_ttl: 10) { raise IOError } } }
          later(75) { assert_equal "old", store.read("name") }
          later(91) { assert_nil store.read("name") }
        end

        def test_a_long_one_keeps_the_ended_value_as_long
          guarded = new_store(race_condition_ttl: 600)
          guarded.write("name", "old", expires_in: 60)
          later(560) { guarded.fetch("name") { assert_equal "old", guarded.read("name") } }
        end

        def test_an_entry_written_without_it_stays_for_five_seconds
          needs_own_clock
          now = Time.now
          Time.stub(:now, now) { store.write("name", "old", expires_in: 1) }
          Time.stub(:now, now + 5.9) do
            store.fetch("name", race_condition_ttl: 10) { assert_equal "old", store.read("name") }
          end
        end

        # memcached may end an entry up to a second early, by its own clock.
        def test_a_server_keeps_an_entry_longer_than_its_frame_says
          store.write("name", "value", expires_in: 60)
          *, left = store.backend.compare_exchange(store.stored_key("name"), "in its way", 60)
          assert left.nil? || left > 60, "#{left} s"
        end

        def test_the_value_made_anew_has_its_whole_time
          store.write("name", "old", expires_in: 60)
          later(61) { store.fetch("name", expires_in: 60, race_condition_ttl: 10) { "new" } }
          later(61 + 40) { assert_equal "new", store.read("name") }
        end

        def test_fetch_multi_gives_no_ended_value
          store.write("ended", "old", expires_in: 60)
          store.write("there", "there", expires_in: 100)
          later(71) do
            values = store.fetch_multi("ended", "there", race_condition_ttl: 10) { "new" }
            assert_equal({ "ended" => "new", "there" => "there" }, values)
          end
        end
      end
    end
  end
end
