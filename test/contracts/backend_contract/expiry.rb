# frozen_string_literal: true

require "minitest/mock"

module Tiercel
  module Contracts
    module BackendContract
      # Tests of TTLs: every method treats an expired entry as absent. Servers expire entries by their own clocks, so
      # each test waits once.
      module Expiry
        # Remote backends count in whole seconds, and an entry of one second may expire before its first read.
        TTL = 3

        def test_an_entry_that_ended_is_absent_for_every_method
          keys = %w[read deleted touched added swapped]
          promptly do
            backend.set("read", "value", TTL)
            backend.set_multi(keys.drop(1).to_h { |key| [key, "value"] }, TTL)
            backend.increment("counter", 1, TTL)
            backend.increment("counter", 1, 60)
            [backend.get("read"), backend.get("counter"), backend.get_with_token("swapped")]
          end => ["value", "2", [_, token]]
          later(TTL + 1) do
            assert_equal [nil, nil], [backend.get("read"), backend.get_with_token("read")]
            assert_empty backend.get_multi(keys)
            assert_empty backend.scan.map(&:b) & keys.map(&:b)
            assert_equal [false, false], [backend.delete("deleted"), backend.touch("touched", 60)]
            assert_nil backend.get("touched")
            assert_equal true, backend.add("added", "new")
            assert_equal "new".b, backend.get("added")
            assert_equal false, backend.compare_and_set("swapped", "new", token)
            assert_equal [nil, 5], [backend.get("counter"), backend.increment("counter", 5)]
          end
        end

        def test_an_entry_is_absent_from_its_last_instant_on
          skip "#{backend} has its server's clock" if backend.remote?
          now = Time.at(1_900_000_000)
          Time.stub(:now, now) { backend.set("key", "value", TTL) }
          Time.stub(:now, now + TTL) do
            assert_equal [nil, [], false], [backend.get("key"), backend.scan.to_a, backend.delete("key")]
          end
        end

        def test_what_has_not_ended_stays
          touched = promptly do
            backend.set("endless", "value")
            backend.set("replaced", "value", TTL)
            backend.set("replaced", "value")
            backend.set("long", "value", 90 * 86_400)
            backend.set("longer", "value", TTL)
            backend.set("made endless", "value", TTL)
            backend.set("shorter", "value", 60)
            [backend.touch("longer", 60), backend.touch("made endless", nil), backend.touch("shorter", TTL)]
          end
          assert_equal [true, true, true, false], [*touched, backend.touch("absent", 60)]
          later(TTL + 1) do
            kept = ["endless", "replaced", "long", "longer", "made endless"]
            assert_equal kept.to_h { |key| [key, "value".b] }, backend.get_multi([*kept, "shorter"])
          end
        end

        private

        # Repeats the block until it takes less time than its entries live. Only a fault makes it slow ten times.
        def promptly(within: TTL - 1)
          10.times do
            started = Clock.monotonic
            result = yield
            return result if Clock.monotonic - started < within
            backend.clear
          end
          flunk "took #{within} s or more in each of ten attempts"
        end
      end
    end
  end
end
