# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # Processes that hold a lease and never finish.
      module LostHolders
        # @return [Float] the lease's ttl in {#test_a_holder_that_was_killed_is_followed_by_one_other}, in seconds
        def killed_lease_ttl = 1.0

        def test_a_holder_that_was_killed_is_followed_by_one_other
          needs_processes
          lapsing, patient = [killed_lease_ttl, 60].map { |ttl| new_store(lease_ttl: ttl, lease_wait: PATIENCE * 10) }
          holder = process { lapsing.fetch("killed") { note("holds"); sleep } }
          eventually { notes.include?("holds") }
          waiters = Array.new(3) do
            process { note("waits") && note(patient.fetch("killed") { note("run"); "made" }) }
          end
          eventually { notes.count("waits") == 3 }
          end_process(holder)
          eventually { notes.include?("run") }
          wait_for(waiters)
          assert_equal 1, notes.count("run")
          assert_equal 3, notes.count("made")
        end

        def test_a_holder_that_was_stopped_loses_its_lease_and_not_its_place
          needs_processes
          lapsing = new_store(lease_ttl: 0.5, lease_wait: PATIENCE * 10)
          holder = process do
            note lapsing.fetch("stopped") { note("holds"); eventually { notes.include?("go on") }; "late" }
          end
          eventually { notes.include?("holds") }
          Process.kill(:STOP, holder)
          in_processes(3) { note lapsing.fetch("stopped") { note("run"); "made" } }
          assert_includes 1..3, notes.count("run"), "a lease lapses as well if its holder gets no processor"
          assert_equal 3, notes.count("made")
          note("go on")
          Process.kill(:CONT, holder)
          eventually { notes.include?("late") }
          assert_equal "made", lapsing.read("stopped"), "the first that finished is stored"
        end

        # The holder continues while its successor still computes, and the holder finishes first.
        def test_a_holder_that_goes_on_before_the_next_has_finished_is_stored
          needs_processes
          lapsing = new_store(lease_ttl: 0.5, lease_wait: PATIENCE * 10)
          holder = process do
            note lapsing.fetch("resumed") { note("holds"); eventually { notes.include?("go on") }; "first" }
          end
          eventually { notes.include?("holds") }
          Process.kill(:STOP, holder)
          value = lapsing.fetch("resumed") do
            note("go on")
            Process.kill(:CONT, holder)
            eventually { notes.include?("first") }
            "second"
          end
          assert_equal "second", value
          assert_equal "first", lapsing.read("resumed")
        end
      end
    end
  end
end
