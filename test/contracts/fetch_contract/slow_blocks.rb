# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # Blocks that run as long as a lease, or longer.
      module SlowBlocks
        def test_a_block_of_three_leases_is_stored_by_the_first_that_finishes
          slow = new_store(lease_ttl: 0.2, lease_wait: PATIENCE)
          in_callers(3) do |index|
            value = slow.fetch("slow") do
              note("began")
              eventually { notes.count("began") == 3 && notes.grep(/\Agiven/).size == index } # one after the other
              "finished #{index}"
            end
            note("given #{value}")
          end
          assert_equal "finished 0", slow.read("slow")
          assert_equal 3, notes.grep(/\Agiven/).size
        end

        def test_a_name_of_a_fetch_multi_is_not_waited_for_before_its_block_begins
          names = Array.new(40) { |index| "slow/#{index}" }
          began, finish, runs = Queue.new, Queue.new, Queue.new
          many = Thread.new { store.fetch_multi(*names) { |name| began << 1; runs << name; finish.pop; "many" } }
          began.pop
          took = seconds do
            assert_equal("own", store.fetch(names.last) { runs << names.last; "own" })
            assert_equal({ names[-2] => "own" }, store.fetch_multi(names[-2]) { |name| runs << name; "own" })
          end
          assert_operator took, :<, PATIENCE
          names.size.times { finish << 1 }
          assert_equal names.to_h { |name| [name, names.last(2).include?(name) ? "own" : "many"] }, many.value
          assert_equal names.sort, Array.new(runs.size) { runs.pop }.sort
        end

        def test_the_same_across_processes_while_others_share_the_work
          needs_processes
          names = Array.new(40) { |index| "slow/#{index}" }
          in_processes(2) do
            values = store.fetch_multi(*names) { |name| note(name) }
            note("same") if values == names.to_h { |name| [name, name] }
          end
          assert_equal [*names, "same", "same"].sort, notes.sort
        end

        def test_fetch_multi_of_slow_keys_is_stored_though_its_leases_lapse
          slow = new_store(lease_ttl: 0.2, lease_wait: PATIENCE)
          names = Array.new(10) { |index| "slow/#{index}" }
          runs = Queue.new
          first = Thread.new { slow.fetch_multi(*names) { |name| runs << 1; sleep 0.06; "#{name} first" } }
          wait_for_one(runs)
          slow.fetch_multi(*names) { |name| sleep 0.06; "#{name} second" }
          first.join
          assert_equal names, slow.read_multi(*names).keys
        end

        def test_fetch_multi_stores_what_took_long_before_its_next_block
          slow = new_store(lease_ttl: 6)
          MovedMonotonicClock.by(0) do
            slow.fetch_multi("a", "b") { |name| note(slow.read("a").inspect); MovedMonotonicClock.advance(3); name }
          end
          assert_equal ["nil", '"a"'], notes
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

        def test_those_who_have_waited_for_lease_wait_begin_one_at_a_time
          impatient = new_store(lease_ttl: 6_000, lease_wait: 600)
          runs, finish = Queue.new, Queue.new
          slow = Thread.new { impatient.fetch("slow") { runs << 1; finish.pop(timeout: PATIENCE) } }
          wait_for_one(runs)
          values = MovedMonotonicClock.by(0) do
            in_threads(11) do |index|
              next impatient.fetch("slow") { runs << 1; others_wait(impatient, 9); "made" } if index.positive?
              others_wait(impatient)
              MovedMonotonicClock.advance(601) && "made"
            end
          end
          assert_equal ["made"], values.uniq
          assert_equal 2, runs.size
          finish << "late"
          assert_equal "late", slow.value
          assert_equal "made", impatient.read("slow")
        end

        def test_the_same_across_processes
          needs_processes
          impatient = new_store(lease_ttl: 30, lease_wait: 0.3)
          process { impatient.fetch("slow") { note("began"); sleep } }
          eventually { notes.include?("began") }
          assert_equal("own", impatient.fetch("slow") { "own" })
          assert_equal "own", impatient.read("slow")
        end

        private

        def wait_for_one(queue) = eventually { queue.size == 1 }
      end
    end
  end
end
