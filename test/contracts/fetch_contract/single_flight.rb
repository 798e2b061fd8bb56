# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # A value is computed once, however many callers want it.
      module SingleFlight
        def test_threads_run_the_block_of_a_cold_key_once
          runs = Queue.new
          values = in_threads(50) { store.fetch("cold") { runs << 1; others_wait(store); "made" } }
          assert_equal 1, runs.size
          assert_equal ["made"] * 50, values
          assert_equal "made", store.read("cold")
        end

        def test_processes_run_the_block_of_a_cold_key_once
          needs_processes
          in_processes(12) { note store.fetch("cold") { note("run"); others_call; "made" } }
          assert_equal 1, notes.count("run")
          assert_equal 12, notes.count("made")
        end

        def test_fetch_multi_in_opposite_orders_runs_each_block_once
          runs = Queue.new
          values = in_threads(20) do |index|
            names = index.odd? ? %w[a b] : %w[b a]
            store.fetch_multi(*names) { |name| runs << name; others_wait(store, 18); name * 2 }
          end
          assert_equal %w[a b], Array.new(runs.size) { runs.pop }.sort
          assert_equal [{ "a" => "aa", "b" => "bb" }], values.uniq
          assert_equal [%w[a b], %w[b a]], values.map(&:keys).uniq.sort
        end

        def test_fetch_multi_of_processes_runs_each_block_once
          needs_processes
          in_processes(4) do |index|
            names = index.odd? ? %w[a b] : %w[b a]
            note store.fetch_multi(*names) { |name| note(name); others_call; name * 2 }.sort.flatten.join
          end
          assert_equal %w[a b], notes.reject { |line| line == "aaabbb" }.sort
          assert_equal 4, notes.count("aaabbb")
        end

        def test_each_who_waits_has_a_copy_of_its_own
          values = in_threads(5) { store.fetch("copies") { others_wait(store); { list: [1] } } }
          assert_equal [{ list: [1] }], values.uniq
          assert_equal 5, values.map(&:object_id).uniq.size
          values.first[:list] << 2
          assert_equal [{ list: [1] }], values.drop(1).uniq
        end

        def test_without_leases_every_caller_computes
          without = build_store(lease: false)
          runs = Queue.new
          in_threads(3) { without.fetch("cold") { runs << 1; eventually { runs.size == 3 } } }
          assert_equal 3, runs.size
        ensure
          without&.close
        end

        def test_force_takes_no_lease
          began = Queue.new
          finish = Queue.new
          slow = Thread.new { store.fetch("forced") { began << 1; finish.pop; "slow" } }
          began.pop
          assert_equal("forced", store.fetch("forced", force: true) { "forced" })
          finish << 1
          assert_equal "slow", slow.value
          assert_equal "forced", store.read("forced"), "what was written meanwhile stays"
        end
      end
    end
  end
end
