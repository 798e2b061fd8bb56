# frozen_string_literal: true

require "active_support/notifications"
require "logger"
require "stringio"

module Tiercel
  module Contracts
    module FetchContract
      # The events and log lines of `fetch`: each `fetch` that misses sends one `cache_generate`, or one
      # `cache_fetch_hit` if it gets the value without running its own block.
      module Events
        HEARD = %w[cache_fetch_hit cache_generate].freeze
        TOLD = %i[stale waited takeover reason background exception].freeze
        private_constant :HEARD, :TOLD

        def test_a_block_and_a_hit_are_told_as_rails_does
          told = heard { 2.times { store.fetch("name") { 1 } } }
          assert_equal [["cache_generate", {}], ["cache_fetch_hit", {}]], told
        end

        # The proc is called once; later return values do not matter.
        def test_a_namespace_that_is_a_proc_is_told_as_such
          answer = "one"
          namespace = -> { answer }
          named = build_store(namespace:)
          told = {}
          hear = ->(name, _start, _finish, _id, payload) { told[name[/cache_(\w+)/, 1]] = payload[:namespace] }
          ActiveSupport::Notifications.subscribed(hear, /\Acache_/) { named.fetch("name") { answer = "two" } }
          assert_equal %w[read generate write], told.keys
          told.each { |event, given| assert_same namespace, given, event }
          assert_nil named.read("name")
          answer = "one"
          assert_equal "two", named.read("name")
        end

        def test_stale_answers_are_told
          revalidating = stale_store(stale_while_revalidate: 60)
          later do
            hold_a_refresh(revalidating) do
              assert_equal([["cache_fetch_hit", { stale: true }]], heard { revalidating.fetch("name") { flunk } })
              assert_equal([["cache_fetch_hit", { stale: true }]], heard { revalidating.fetch_multi("name") { flunk } })
            end
          end
          assert_equal 2, revalidating.stats[:stale_hits]
        end

        def test_refreshes_are_told_with_their_reason
          revalidating = stale_store(stale_while_revalidate: 60)
          later { assert_equal([["cache_generate", { reason: :stale }]], heard { revalidating.fetch("name") { 1 } }) }
        end

        def test_refreshes_in_the_background_are_told_where_they_run
          revalidating = stale_store(stale_while_revalidate: 60, refresh: :background)
          told = heard do
            later do
              revalidating.fetch("name") { "new" }
              eventually("no refresh") { revalidating.read("name") == "new" }
            end
          end
          assert_includes told, ["cache_fetch_hit", { stale: true }]
          assert_includes told, ["cache_generate", { reason: :stale, background: true }]
          assert_equal [1, 1], revalidating.stats.values_at(:background_refreshes, :stale_hits)
        end

        def test_waits_are_told_in_milliseconds
          began = Queue.new
          told = heard do
            follower = Thread.current
            slow = Thread.new { store.fetch("slow") { began << 1; eventually { follower.stop? }; "made" } }
            began.pop
            assert_equal("made", store.fetch("slow") { flunk })
            slow.join
          end
          waited = told.assoc("cache_fetch_hit").last[:waited]
          assert_operator waited, :>, 0
          assert_operator waited, :<, PATIENCE * 1_000
        end

        def test_takeovers_are_told_and_warned_of_once
          needs_processes
          hasty = new_store(lease_ttl: 0.3, lease_wait: PATIENCE)
          2.times { |index| process { hasty.fetch("slow/#{index}") { note("began"); sleep } } }
          eventually { notes.size == 2 }
          told = nil
          began = Clock.monotonic
          log = logged(Logger::WARN) do
            told = heard { 2.times { |index| hasty.fetch("slow/#{index}") { "taken over" } } }
          end
          seconds = Clock.monotonic - began
          assert_equal [true, true], told.map { |_, payload| payload[:takeover] }
          assert_equal 2, hasty.stats[:lease_takeovers]
          assert_equal 1, log.scan("took over the lease of */*:").size, log
          assert_includes 1..(1 + seconds.floor), log.scan("took over").size, "one line, and then none for a second"
        end

        private

        # @return [Array(String, Hash)] names of events, and their payloads without Rails' own keys
        def heard
          told = Queue.new
          hear = lambda do |name, _start, _finish, _id, payload|
            event = name.delete_suffix(".active_support")
            told << [event, payload.slice(*TOLD)] if HEARD.include?(event)
          end
          ActiveSupport::Notifications.subscribed(hear, /\Acache_/) { yield }
          Array.new(told.size) { told.pop }
        end

        def logged(level)
          before = ActiveSupport::Cache::Store.logger
          text = StringIO.new
          ActiveSupport::Cache::Store.logger = Logger.new(text, level:)
          yield
          text.string
        ensure
          ActiveSupport::Cache::Store.logger = before
        end

        # Yields while another caller refreshes the value.
        def hold_a_refresh(revalidating)
          refreshing, finish = Queue.new, Queue.new
          refresher = Thread.new { revalidating.fetch("name", expires_in: 60) { refreshing << 1; finish.pop; "new" } }
          refreshing.pop
          yield
        ensure
          finish << 1
          refresher.join
        end
      end
    end
  end
end
