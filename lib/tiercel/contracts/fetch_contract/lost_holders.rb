# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # Processes that hold a lease and come to no end.
      module LostHolders
        def test_a_holder_that_was_killed_is_followed_by_one_other
          needs_processes
          lapsing = new_store(lease_ttl: 1, lease_wait: PATIENCE)
          holder = process { lapsing.fetch("killed") { note("holds"); sleep } }
          eventually { notes.include?("holds") }
          end_process(holder)
          in_processes(3) { note lapsing.fetch("killed") { note("run"); sleep 0.1; "made" } }
          assert_equal 1, notes.count("run")
          assert_equal 3, notes.count("made")
        end

        def test_a_holder_that_was_stopped_loses_its_lease_and_not_its_place
          needs_processes
          lapsing = new_store(lease_ttl: 1, lease_wait: PATIENCE)
          holder = process { note lapsing.fetch("stopped") { note("holds"); sleep 0.3; "late" } }
          eventually { notes.include?("holds") }
          Process.kill(:STOP, holder)
          assert_equal("made", lapsing.fetch("stopped") { "made" })
          Process.kill(:CONT, holder)
          eventually { notes.include?("late") }
          assert_equal "made", lapsing.read("stopped"), "the first that finished is stored"
        end
      end
    end
  end
end
