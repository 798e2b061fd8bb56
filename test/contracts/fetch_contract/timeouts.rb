# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # `timeout:`: callers return early, and blocks run to their end.
      module Timeouts
        def test_past_the_soft_timeout_the_old_value_is_given_and_the_block_finishes_behind
          limited = stale_store(stale_if_error: 60)
          later do
            finish = Queue.new
            value = limited.fetch("name", expires_in: 60, timeout: { soft: 0.05 }) { finish.pop; "new" }
            assert_equal "old", value
            assert_nil limited.read("name"), "reads see a miss after the end"
            finish << 1
            eventually("no fill") { limited.read("name") == "new" }
          end
        end

        def test_past_the_hard_timeout_an_error_is_raised_and_the_block_finishes_behind
          finish = Queue.new
          error = assert_raises(FetchTimeout) { store.fetch("late", timeout: { hard: 0.05 }) { finish.pop; "made" } }
          assert_equal ["late", 0.05], [error.key, error.seconds]
          finish << 1
          eventually("no fill") { store.read("late") == "made" }
          assert_equal 1, store.stats[:timeouts]
        end

        def test_in_time_a_block_gives_what_it_gives
          assert_equal("made", store.fetch("soon", timeout: PATIENCE) { "made" })
          assert_equal "made", store.read("soon")
          assert_equal("two", store.fetch("2", timeout: PATIENCE) { |_, options| options.expires_in = 60; "two" })
          assert_equal "two", store.read("2")
          assert_nil(store.fetch("nothing", timeout: PATIENCE, skip_nil: true) { nil })
          assert_equal false, store.exist?("nothing")
          assert_raises(IOError) { store.fetch("raises", timeout: PATIENCE) { raise IOError } }
          assert_equal("after", store.fetch("raises", timeout: PATIENCE) { "after" })
        end

        def test_who_waits_for_a_block_has_a_limit_of_its_own
          began = Queue.new
          finish = Queue.new
          slow = Thread.new { store.fetch("slow") { began << 1; finish.pop; "made" } }
          began.pop
          assert_raises(FetchTimeout) { store.fetch("slow", timeout: 0.05) { flunk "one computes" } }
          patient = Thread.new { store.fetch("slow", timeout: PATIENCE) { flunk "one computes" } }
          finish << 1
          assert_equal %w[made made], [slow.value, patient.value]
        end

        def test_who_has_left_leaves_the_block_to_those_who_wait
          finish = Queue.new
          runs = Queue.new
          block = -> { runs << 1; finish.pop; "made" }
          assert_raises(FetchTimeout) { store.fetch("slow", timeout: 0.05) { block.call } }
          callers = Array.new(3) { Thread.new { store.fetch("slow") { block.call } } }
          eventually { callers.all?(&:stop?) }
          4.times { finish << 1 }
          assert_equal ["made"], callers.map(&:value).uniq
          assert_equal 1, runs.size
        end

        def test_who_waits_for_another_process_has_one_too
          needs_processes
          process { store.fetch("slow") { note("began"); sleep } }
          eventually { notes.include?("began") }
          assert_raises(FetchTimeout) { store.fetch("slow", timeout: 0.1) { flunk "another computes" } }
        end

        def test_fetch_multi_past_its_timeouts
          limited = stale_store(stale_if_error: 60)
          later do
            finish = Queue.new
            block = ->(name) { finish.pop; "new #{name}" }
            assert_equal({ "name" => "old" }, limited.fetch_multi("name", timeout: { soft: 0.05 }, &block))
            assert_raises(FetchTimeout) { limited.fetch_multi("a", "b", timeout: 0.05, &block) }
            3.times { finish << 1 }
            all = { "name" => "new name", "a" => "new a", "b" => "new b" }
            eventually("no fill") { limited.read_multi("name", "a", "b") == all }
          end
        end

        def test_fetch_multi_in_time
          made = store.fetch_multi("a", "b", timeout: PATIENCE, &:upcase)
          assert_equal({ "a" => "A", "b" => "B" }, made)
          assert_equal made, store.read_multi("a", "b")
          assert_raises(IOError) { store.fetch_multi("c", timeout: PATIENCE) { raise IOError } }
          assert_equal({ "c" => "C" }, store.fetch_multi("c", timeout: PATIENCE, &:upcase))
        end

        def test_without_an_end_or_a_value_to_serve_the_block_runs_in_the_callers_thread
          assert_same(Thread.current, store.fetch("here", timeout: { soft: 0.05 }, skip_nil: true) do
            break Thread.current
          end)
        end

        def test_a_request_sees_what_it_has_fetched
          skip "#{store.backend} has no request-local cache" unless store.respond_to?(:with_local_cache)
          store.with_local_cache do
            assert_nil store.read("name")
            assert_equal("made", store.fetch("name", timeout: PATIENCE) { "made" })
            assert_equal "made", store.read("name")
          end
        end

        def test_a_request_sees_what_a_block_with_a_time_limit_has_changed
          skip "#{store.backend} has no request-local cache" unless store.respond_to?(:with_local_cache)
          store.with_local_cache do
            %w[written deleted].each { |name| store.write(name, "before") }
            assert_equal ["before", "before", nil], %w[written deleted new].map { |name| store.read(name) }
            store.fetch("name", timeout: PATIENCE) do
              assert_equal "before", store.read("written")
              store.delete("deleted")
              %w[written new].each { |name| store.write(name, "by the block") }
            end
            assert_equal ["by the block", nil, "by the block"], %w[written deleted new].map { |name| store.read(name) }
          end
          assert_equal ["by the block", nil, "by the block"], %w[written deleted new].map { |name| store.read(name) }
        end

        def test_of_a_store_it_is_fetch_timeout
          limited = new_store(fetch_timeout: { hard: 0.05 })
          finish = Queue.new
          assert_raises(FetchTimeout) { limited.fetch("late") { finish.pop } }
          finish << 1
          assert_equal("made", limited.fetch("unlimited", timeout: nil) { sleep 0.1; "made" })
        end

        def test_values_that_are_no_times
          [0, -1, "1", { soft: 2, hard: 1 }, { both: 1 }].each do |value|
            assert_raises(ConfigurationError) { store.fetch("name", timeout: value) { 1 } }
          end
        end
      end
    end
  end
end
