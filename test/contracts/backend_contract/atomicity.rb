# frozen_string_literal: true

module Tiercel
  module Contracts
    module BackendContract
      # Tests of add, compare_and_set and increment, alone and under contention of threads and processes.
      module Atomicity
        def test_add
          assert_equal true, backend.add("key", "one")
          assert_equal false, backend.add("key", "two")
          assert_equal "one".b, backend.get("key")
          backend.delete("key")
          assert_equal true, backend.add("key", "three")
        end

        def test_add_or_get
          assert_equal true, backend.add_or_get("key", "one")
          present = backend.add_or_get("key", "two")
          assert_equal backend.get_with_token("key"), present
          assert_equal "one".b, present.first
          assert_equal true, backend.compare_and_set("key", "three", present.last)
          backend.delete("key")
          assert_equal true, backend.add_or_get("key", "four".b * 5_000, 60)
          assert_equal "four".b * 5_000, backend.get("key")
        end

        def test_compare_and_set
          backend.set("key", "one")
          bytes, token = backend.get_with_token("key")
          assert_equal "one".b, bytes
          assert_equal true, backend.compare_and_set("key", "two", token)
          assert_equal false, backend.compare_and_set("key", "three", token)
          assert_equal "two".b, backend.get("key")
        end

        def test_compare_and_set_never_brings_back_what_was_deleted
          backend.set("key", "one")
          _, token = backend.get_with_token("key")
          backend.delete("key")
          assert_equal false, backend.compare_and_set("key", "two", token)
          assert_nil backend.get("key")
        end

        def test_a_token_does_not_survive_a_change_and_the_same_bytes_again
          needs_versions
          [-> { backend.delete("key") }, -> { backend.set("key", "two") }].each do |change|
            backend.set("key", "one")
            _, token = backend.get_with_token("key")
            change.call
            backend.set("key", "one")
            assert_equal false, backend.compare_and_set("key", "three", token)
          end
        end

        def test_no_token_survives_the_same_bytes_of_many_again
          needs_versions
          pairs = { "one" => "same", "two" => "same" }
          tokens = Array.new(3) do
            backend.set_multi(pairs)
            pairs.keys.map { |key| backend.get_with_token(key).last }
          end
          pairs.each_key.with_index do |key, index|
            assert_equal 3, tokens.map { |pair| pair[index] }.uniq.size
            assert_equal false, backend.compare_and_set(key, "new", tokens[1][index])
            assert_equal true, backend.compare_and_set(key, "new", tokens[2][index])
          end
        end

        def test_a_token_does_not_survive_an_increment
          backend.increment("counter", 5)
          _, token = backend.get_with_token("counter")
          backend.increment("counter", 1)
          assert_equal false, backend.compare_and_set("counter", "0", token)
          assert_equal "6".b, backend.get("counter")
        end

        def test_counters
          assert_equal 1, backend.increment("counter")
          assert_equal 11, backend.increment("counter", 10)
          assert_equal 8, backend.increment("counter", -3)
          assert_equal(-2, backend.increment("counter", -10))
          assert_equal(-1, backend.increment("counter", 1))
          assert_equal 9, backend.increment("counter", 10)
          assert_equal "9".b, backend.get("counter")
          assert_equal(-7, backend.increment("other", -7))
        end

        def test_a_counter_grows_over_its_room
          backend.set("counter", "999")
          assert_equal 1_000, backend.increment("counter")
          assert_equal 10_000_000_000, backend.increment("counter", 9_999_999_000)
          assert_equal "10000000000".b, backend.get("counter")
        end

        def test_what_is_not_a_counter_stays_as_it_is
          ["text", "1.5", "", "12x", "-0", "007", "-07", "+5", " 5", "5\n", "5\0", "0x5", "1_000", "-"].each do |bytes|
            backend.set("key", bytes)
            assert_raises(NotACounter) { backend.increment("key") }
            assert_equal bytes.b, backend.get("key")
          end
        end

        def test_a_counter_stays_in_its_range
          { 1 => 2**63 - 1, -1 => -2**63 }.each do |amount, last|
            backend.set("counter", last.to_s)
            assert_raises(NotACounter) { backend.increment("counter", amount) }
            assert_equal last - amount, backend.increment("counter", -amount)
          end
        end

        def test_threads_lose_no_increment
          backend.set("warm", "up")
          threads = Array.new(4) { Thread.new { 50.times { backend.increment("counter") } } }
          threads.each(&:join)
          assert_equal "200".b, backend.get("counter")
        end

        def test_processes_lose_no_increment
          needs_processes
          backend.set("warm", "up")
          in_processes { |peer, _| 100.times { peer.increment("counter") } && nil }
          assert_equal (PROCESSES * 100).to_s.b, backend.get("counter")
        end

        def test_one_process_adds
          needs_processes
          backend.set("warm", "up")
          rounds = in_rounds { |peer, index, round| index if peer.add("key#{round}", index.to_s) }
          rounds.map(&:compact).each_with_index do |winners, round|
            assert_equal 1, winners.size
            assert_equal winners.first.to_s.b, backend.get("key#{round}")
          end
        end

        def test_one_process_adds_and_the_others_get
          needs_processes
          backend.set("warm", "up")
          rounds = in_rounds { |peer, index, round| [index, peer.add_or_get("key#{round}", index.to_s)] }
          rounds.each do |answers|
            winners, others = answers.partition { |_, answer| answer == true }
            assert_equal 1, winners.size
            assert_equal [winners.first.first.to_s.b], others.map { |_, (bytes, _)| bytes }.uniq
          end
        end

        def test_compare_and_set_loses_no_update
          needs_processes
          backend.set("list", "")
          in_processes do |peer, index|
            20.times do |round|
              loop do
                bytes, token = peer.get_with_token("list")
                break if peer.compare_and_set("list", "#{bytes}#{index}.#{round},", token)
              end
            end
            nil
          end
          assert_equal PROCESSES * 20, backend.get("list").split(",").uniq.size
        end

        def test_a_fork_shares_nothing_that_it_must_not
          needs_processes
          backend.set("key", "value")
          answers = in_processes(4) do |_, index|
            50.times.map { backend.set("k#{index}", "v#{index}") && backend.get("k#{index}") }.uniq
          end
          assert_equal Array.new(4) { |index| ["v#{index}".b] }, answers
          assert_equal "value".b, backend.get("key")
        end
      end
    end
  end
end
