# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # Blocks that take as long as a lease, or longer.
      module SlowBlocks
        def test_a_block_almost_as_long_as_its_lease_runs_once
          runs = Queue.new
          slow = new_store(lease_ttl: 1)
          in_threads(4) { slow.fetch("slow") { runs << 1; sleep 0.9; "made" } }
          assert_equal 1, runs.size
        end

        def test_a_block_longer_than_its_lease_is_stored_by_the_first_that_finishes
          slow = new_store(lease_ttl: 0.4, lease_wait: PATIENCE)
          callers = Array.new(3) do |index|
            Thread.new do
              sleep index * 0.5
              slow.fetch("slow") { sleep 1.2; index }
            end
          end
          assert_equal [0], callers.map(&:value).uniq - [1, 2]
          assert_equal 0, slow.read("slow")
        end

        def test_fetch_multi_of_slow_keys_is_stored_though_its_leases_lapse
          slow = new_store(lease_ttl: 0.2, lease_wait: PATIENCE)
          names = Array.new(10) { |index| "slow/#{index}" }
          first = Thread.new { slow.fetch_multi(*names) { |name| sleep 0.06; "#{name} first" } }
          sleep 0.1
          slow.fetch_multi(*names) { |name| sleep 0.06; "#{name} second" }
          first.join
          assert_equal names, slow.read_multi(*names).keys
          assert_equal "slow/0 first", slow.read("slow/0")
        end

        def test_who_has_waited_for_lease_wait_runs_the_block
          impatient = new_store(lease_ttl: 30, lease_wait: 0.2)
          began = Queue.new
          finish = Queue.new
          slow = Thread.new { impatient.fetch("slow") { began << 1; finish.pop; "slow" } }
          began.pop
          assert_equal("own", impatient.fetch("slow") { "own" })
          assert_equal "own", impatient.read("slow"), "the first that finishes is stored"
          finish << 1
          assert_equal "slow", slow.value
          assert_equal "own", impatient.read("slow")
        end

        def test_the_same_across_processes
          needs_processes
          impatient = new_store(lease_ttl: 30, lease_wait: 0.3)
          process { impatient.fetch("slow") { note("began"); sleep } }
          eventually { notes.include?("began") }
          assert_equal("own", impatient.fetch("slow") { "own" })
          assert_equal "own", impatient.read("slow")
        end
      end
    end
  end
end
