# frozen_string_literal: true

require "tiercel"

module Tiercel
  module Contracts
    module BackendContract
      # Tests of leases over the backend. One caller computes a value; a change of the key ends that caller's right to
      # store it. The default lease methods use the backend's atomic operations.
      module Leasing
        # Durations in seconds: a lease that never lapses in a test, a lease that lapses at once, and the timeout of a
        # wait.
        LEASE_TTL = 300.0
        SHORT_LEASE_TTL = 0.05
        PATIENCE = 30

        def after_teardown
          @leases&.close
          @leases = nil
          super
        end

        def test_one_caller_has_the_lease
          mine, theirs = Array.new(2) { take_lease }
          assert_equal [true, false], [mine.mine?, theirs.mine?]
          assert mine.same_lineage?(theirs)
          refute leases.lapsed?(theirs)
        end

        def test_a_fill_is_stored_once
          mine = take_lease
          assert_equal true, leases.fill(mine, "value".b, nil)
          assert_equal false, leases.fill(mine, "again".b, nil)
          assert_equal "value".b, backend.get("key")
          assert_equal Leases::Present.new("value".b), take_lease
        end

        def test_a_lease_is_a_miss_and_gives_way_to_a_value
          ["value", "12"].each do |bytes|
            take_lease
            assert_nil visible("key")
            assert_equal true, backend.set("key", bytes)
            assert_equal bytes.b, backend.get("key")
            assert_equal Leases::Present.new(bytes.b), take_lease
            backend.delete("key")
          end
        end

        def test_a_fill_loses_against_every_other_change
          { "delete" => -> { backend.delete("key") }, "delete_multi" => -> { backend.delete_multi(["key"]) },
            "set" => -> { backend.set("key", "other") }, "set_multi" => -> { backend.set_multi({ "key" => "other" }) },
            "clear" => -> { backend.clear },
            "another lineage" => -> { backend.delete("key") && take_lease } }.each do |change, made|
            backend.delete("key")
            mine = take_lease
            made.call
            assert_equal false, leases.fill(mine, "late".b, nil), change
            refute_equal "late".b, backend.get("key"), change
          end
        end

        def test_of_a_slow_holder_and_its_heir_the_first_stores
          slow = take_lease(ttl: SHORT_LEASE_TTL)
          met = take_lease # on a busy machine the slow holder's lease has lapsed by now
          assert_equal :lapsed, wait_for_lease(met) unless met.mine?
          heir = met.mine? ? met : take_lease
          assert_equal [true, true, true], [heir.mine?, heir.takeover?, heir.same_lineage?(slow)]
          assert_equal true, leases.fill(slow, "slow".b, nil)
          assert_equal false, leases.fill(heir, "late".b, nil)
          assert_equal "slow".b, backend.get("key")
        end

        def test_a_stale_value_stays_visible_until_the_fill
          stale = ["stale".b, "stale".b * 10_000]
          stale.each do |bytes|
            backend.set("key", bytes)
            mine = take_lease { bytes }
            assert_equal [true, bytes], [mine.mine?, visible("key")]
            assert_equal true, leases.fill(mine, "new".b, nil)
            assert_equal "new".b, backend.get("key")
          end
        end

        def test_a_released_lease_is_free_at_once
          seen = promptly(within: 1) do # as long as a released lease is visible
            mine, theirs = take_lease, take_lease
            leases.release(mine)
            wait_for_lease(theirs)
          end
          assert_equal [:released, true], [seen, take_lease.mine?]
        end

        def test_nobody_has_a_paused_lease
          leases.release(take_lease, pause: LEASE_TTL)
          paused = take_lease
          assert_equal [false, true], [paused.mine?, paused.paused?]
        end

        def test_a_damaged_placeholder_is_no_lease
          held = take_lease
          bytes = backend.get("key") or return assert_predicate(held, :mine?) # in a table of its own
          bytes = bytes.dup
          bytes.setbyte(30, bytes.getbyte(30) ^ 1)
          backend.set("key", bytes)
          assert_predicate leases.acquire(leases.own("key", LEASE_TTL, nil)) { nil }, :mine?
        end
        def test_a_waiting_caller_gets_the_value_or_learns_that_the_lease_is_gone
          mine = take_lease
          theirs = take_lease
          leases.fill(mine, "value".b, nil)
          assert_equal Leases::Present.new("value".b), wait_for_lease(theirs)
          backend.delete("key")
          take_lease
          theirs = take_lease
          backend.delete("key")
          assert_equal :gone, wait_for_lease(theirs)
          take_lease # another lineage
          assert_equal :gone, wait_for_lease(theirs)
        end

        def test_leases_of_many_keys
          keys = Array.new(40) { |index| "key #{index}" }
          backend.set(keys[0], "there")
          take_lease(keys[1])
          wanted = keys.map { |key| leases.own(key, LEASE_TTL, nil) }
          taken = keys.zip(leases.acquire_multi(wanted) { :current }).to_h
          assert_equal "there".b, taken[keys[0]].bytes
          assert_equal [keys[1]], taken.except(keys[0]).reject { |_, lease| lease.mine? }.keys
          backend.delete(keys[2])
          filled = leases.fill_multi(taken.values_at(*keys.drop(2)).to_h { |lease| [lease, lease.key.b] }, nil)
          assert_equal keys.drop(3).sort, filled.sort
          assert_equal keys.drop(3).to_h { |key| [key, key.b] }, backend.get_multi(keys.drop(2))
        end

        def test_one_process_has_the_lease
          needs_processes
          backend.set("warm", "up")
          rounds = in_rounds(10) do |peer, index, round|
            own = peer.build_leases(Guard.new(peer))
            taken = own.acquire(own.own("key#{round}", LEASE_TTL, nil)) { :current }
            next unless taken.is_a?(Leases::Lease) && taken.mine?
            own.fill(taken, "value of #{index}".b, nil) && index
          end
          rounds.each_with_index do |answers, round|
            assert_equal ["value of #{answers.compact.first}".b], [backend.get("key#{round}")]
            assert_equal 1, answers.compact.size
          end
        end

        def test_the_lease_of_a_dead_process_lapses
          needs_processes
          backend.set("warm", "up")
          in_processes(1) do |peer, _|
            leases = peer.build_leases(Guard.new(peer))
            leases.acquire(leases.own("key", SHORT_LEASE_TTL, nil)) { :current }
            nil
          end
          theirs = take_lease
          assert_equal :lapsed, wait_for_lease(theirs) unless theirs.mine?
          assert_predicate take_lease, :mine? unless theirs.mine?
          assert_nil visible("key")
        end

        private

        def leases = @leases ||= backend.build_leases(Guard.new(backend))

        # The block returns the bytes that plain reads see. Without a block, existing bytes count as current.
        def take_lease(key = "key", ttl: LEASE_TTL)
          leases.acquire(leases.own(key, ttl, nil)) { block_given? ? yield : :current }
        end

        def wait_for_lease(lease) = leases.wait(lease, Clock.monotonic + PATIENCE)

        # @return [String, nil] the bytes that a plain read of the store returns
        def visible(key)
          bytes = backend.get(key)
          bytes && Leases::Placeholder.visible(bytes)
        end
      end
    end
  end
end
