# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # `early_refresh:`: one caller refreshes a value that is read shortly before its expiry.
      module EarlyRefreshes
        EARLY = { expires_in: 100, early_refresh: 0.2 }.freeze
        private_constant :EARLY

        def test_shortly_before_the_end_one_caller_refreshes_and_the_others_have_what_is_there
          early = early_store
          assert_equal("old", early.fetch("name") { flunk "it has time" })
          soon do
            refreshing, finish = Queue.new, Queue.new
            refresher = Thread.new { early.fetch("name") { refreshing << 1; finish.pop; "new" } }
            refreshing.pop
            assert_equal ["old"], in_threads(5) { early.fetch("name") { flunk "one refreshes" } }.uniq
            assert_equal "old", early.read("name")
            finish << 1
            assert_equal "new", refresher.value
            assert_equal("new", early.fetch("name") { flunk "it is new" })
          end
          MovedClock.by(110) { assert_equal "new", early.read("name"), "it lives on from then" }
        end

        def test_early_in_the_background_nobody_waits
          early = early_store(refresh: :background)
          soon do
            finish = Queue.new
            assert_equal("old", early.fetch("name") { finish.pop; "new" })
            assert_equal("old", early.fetch("name") { flunk "one refreshes" })
            finish << 1
            eventually("no refresh") { early.read("name") == "new" }
          end
          assert_equal 1, early.stats[:early_refreshes]
        end

        def test_an_early_refresh_that_raises_is_no_callers_error
          early = early_store
          soon do
            assert_equal("old", early.fetch("name") { raise IOError })
            assert_equal("old", early.fetch("name") { flunk "not again so soon" })
            assert_equal("old", new_store(**EARLY).fetch("name") { flunk "nor does another" })
          end
          MovedClock.by(99) { assert_equal "old", early.read("name"), "it is kept until its end" }
          MovedClock.by(101) { assert_equal("new", early.fetch("name") { "new" }) }
        end

        def test_an_early_refresh_that_gives_nothing_leaves_what_is_there
          early = early_store
          soon do
            assert_equal("old", early.fetch("name", skip_nil: true) { nil })
            assert_equal("old", early.fetch("name", skip_nil: true) { flunk "not again so soon" })
            assert_equal("old", new_store(**EARLY).fetch("name") { flunk "nor does another" })
            assert_equal "old", early.read("name")
          end
          MovedClock.by(99) { assert_equal "old", early.read("name"), "it is kept until its end" }
          MovedClock.by(101) { assert_nil(early.fetch("name", skip_nil: true) { nil }) }
        end

        def test_an_early_refresh_that_is_late_is_done_behind
          early = early_store
          soon do
            finish = Queue.new
            assert_equal("old", early.fetch("name", timeout: 0.05) { finish.pop; "new" })
            finish << 1
            eventually("no fill") { early.read("name") == "new" }
          end
        end

        def test_what_is_deleted_during_an_early_refresh_stays_deleted
          early = early_store
          soon do
            assert_equal("made of what was", early.fetch("name") { early.delete("name"); "made of what was" })
            assert_nil early.read("name")
          end
        end

        def test_early_refresh_of_a_call_and_of_versions
          store.fetch("call", expires_in: 100, version: "1") { "old" }
          soon do
            assert_equal("old", store.fetch("call", expires_in: 100, version: "1") { flunk "nobody wants it" })
            assert_equal("two", store.fetch("call", version: "2", **EARLY) { "two" })
            assert_equal("two", store.fetch("call", version: "2", **EARLY) { flunk "it has time" })
          end
        end

        def test_what_the_store_says_of_the_end_holds_for_calls_that_name_tags
          early = new_store(**EARLY)
          early.fetch("name", tags: ["tag"]) { "old" }
          soon { assert_equal("new", early.fetch("name", tags: ["tag"]) { "new" }) }
        end

        def test_fetch_multi_refreshes_the_one_that_ends_first
          early = early_store
          MovedClock.by(1) { early.fetch("later") { "old" } }
          MovedClock.by(90) do
            refreshed = Queue.new
            block = ->(name) { refreshed << name; "new" }
            assert_equal({ "later" => "old", "name" => "new" }, early.fetch_multi("later", "name", &block))
            assert_equal({ "later" => "new", "name" => "new" }, early.fetch_multi("later", "name", &block))
            assert_equal({ "later" => "new", "name" => "new" }, early.fetch_multi("later", "name", &block))
            assert_equal %w[name later], Array.new(refreshed.size) { refreshed.pop }
          end
        end

        def test_fetch_multi_refreshes_all_in_the_background
          early = early_store(refresh: :background)
          early.fetch("other") { "old" }
          soon do
            assert_equal({ "name" => "old", "other" => "old", "cold" => "new" },
                         early.fetch_multi("name", "other", "cold") { "new" })
            eventually("no refresh") { early.read_multi("name", "other").values == %w[new new] }
          end
        end

        def test_other_processes_have_what_is_there
          needs_processes
          early = early_store
          soon do
            process { early.fetch("name") { note("began"); sleep } }
            eventually { notes.include?("began") }
            assert_equal("old", early.fetch("name") { flunk "another refreshes" })
          end
        end

        private

        def early_store(**options)
          new_store(**EARLY, **options).tap { |early| early.fetch("name") { "old" } }
        end

        def soon(&) = MovedClock.by(85, &)
      end
    end
  end
end
