# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # Blocks that suspend their fiber, like an external Enumerator or GraphQL's Dataloader. While the fiber's thread
      # runs other code, the fiber cannot be resumed, so no caller in that thread waits for the fiber.
      module SuspendedFibers
        def test_a_block_that_is_suspended_in_an_enumerator_keeps_its_thread_from_nothing
          values = Enumerator.new { |yielder| store.fetch("key") { yielder << "suspended"; "later" } }
          took = seconds do
            assert_equal "suspended", values.next
            assert_equal("at once", store.fetch("key") { "at once" })
            assert_equal({ "key" => "at once" }, store.fetch_multi("key") { flunk })
          end
          assert_operator took, :<, PATIENCE
          assert_equal "at once", store.read("key")
          assert_raises(StopIteration) { values.next }
        end

        def test_the_same_by_fetch_multi
          fiber = Fiber.new { store.fetch_multi("a", "b") { |name| Fiber.yield(name); "#{name} later" } }
          took = seconds do
            assert_equal "a", fiber.resume
            assert_equal({ "b" => "B", "a" => "A" }, store.fetch_multi("b", "a", &:upcase))
          end
          assert_operator took, :<, PATIENCE
          fiber.resume while fiber.alive?
        end

        # Ruby runs no `ensure` in an abandoned fiber, so nobody removes its flight.
        def test_flights_of_abandoned_fibers_are_dropped
          suspend = ->(names) { names.map { |name| Fiber.new { store.fetch(name) { Fiber.yield } }.tap(&:resume) } }
          fibers = suspend.call(1..300)
          MovedMonotonicClock.by(3_600) { fibers += suspend.call(301..600) }
          assert_operator store.stats[:flights], :<, 400
        ensure
          fibers&.each(&:resume)
        end

        # All of them continue once the first one is suspended.
        def test_fibers_of_one_thread_that_want_one_key
          took = seconds do
            fibers = Array.new(3) { Fiber.new { store.fetch("key") { Fiber.yield; "made" } } }
            fibers.each(&:resume)
            assert_equal(["made"] * 3, fibers.map(&:resume))
          end
          assert_operator took, :<, PATIENCE
          assert_equal "made", store.read("key")
        end
      end
    end
  end
end
