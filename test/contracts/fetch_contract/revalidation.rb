# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # Counts callers that wait while a value is refreshed, in processes with several threads. The refresh ends only
      # after all other callers have their values, so a single waiting caller would block all of them.
      module Revalidation
        PROCESSES = 4
        THREADS = 4
        CALLERS = PROCESSES * THREADS
        private_constant :PROCESSES, :THREADS, :CALLERS

        def test_nobody_but_the_refresher_waits
          needs_processes
          revalidating = stale_store(stale_while_revalidate: 60, lease_ttl: 60)
          later { all_fetch(revalidating) { after_answers(CALLERS - 1) } }
          assert_equal({ "run" => 1, "old" => CALLERS - 1, "new" => 1 }, notes.tally)
        end

        def test_in_the_background_nobody_waits
          needs_processes
          revalidating = stale_store(stale_while_revalidate: 60, lease_ttl: 60, refresh: :background)
          later do
            all_fetch(revalidating) { after_answers(CALLERS) }
            assert_equal "new", revalidating.read("name")
          end
          assert_equal({ "run" => 1, "old" => CALLERS }, notes.tally)
        end

        private

        # Every process runs until the refresh has ended.
        def all_fetch(store, multi: false, &)
          in_processes(PROCESSES) do
            in_threads(THREADS) do
              note(multi ? store.fetch_multi("name") { refreshed(&) }["name"] : store.fetch("name") { refreshed(&) })
            end
            eventually("no refresh") { store.read("name") == "new" }
          end
        end

        def refreshed
          note("run")
          yield
          "new"
        end

        def after_answers(count)
          eventually("somebody waits for the refresh") { notes.count("old") == count }
        end
      end
    end
  end
end
