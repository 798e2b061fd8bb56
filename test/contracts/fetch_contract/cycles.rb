# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # Blocks that call fetch: no caller waits for itself, and no two wait for each other.
      module Cycles
        def test_a_key_within_itself
          assert_equal "inner outer", store.fetch("self") { "#{store.fetch("self") { "inner" }} outer" }
          assert_equal "inner outer", store.read("self")
        end

        def test_a_within_b_against_b_within_a
          begun = Queue.new
          took = seconds do
            values = in_threads(6) do |index|
              outer, inner = index.odd? ? %w[a b] : %w[b a]
              store.fetch(outer) do
                begun << 1
                eventually { begun.size >= 2 }
                store.fetch(inner) { "#{inner} made" } && "#{outer} made"
              end
            end
            assert_equal ["a made", "b made"], values.uniq.sort
          end
          assert_operator took, :<, PATIENCE
        end

        def test_the_same_in_two_processes
          needs_processes
          took = seconds do
            in_processes(2) do |index|
              outer, inner = index.odd? ? %w[a b] : %w[b a]
              note store.fetch(outer) { others_call; store.fetch(inner) { "#{inner} made" } && "#{outer} made" }
            end
          end
          assert_equal ["a made", "b made"], notes.sort
          assert_operator took, :<, PATIENCE
        end

        def test_a_fetch_in_a_thread_an_enumerator_and_a_fiber_of_the_block
          fetching = -> { store.fetch("outer") { "inner" } }
          ways = [
            -> { Thread.new(&fetching).value },
            -> { Enumerator.new { |values| values << fetching.call }.next },
            -> { Fiber.new(&fetching).resume },
          ]
          ways.each do |way|
            store.delete("outer")
            took = seconds { assert_equal "outer of inner", store.fetch("outer") { "outer of #{way.call}" } }
            assert_operator took, :<, PATIENCE
          end
        end
      end
    end
  end
end
