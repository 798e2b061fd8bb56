# frozen_string_literal: true

require "active_support/notifications"

module Tiercel
  module Contracts
    module FetchContract
      # The events of `fetch`: each `fetch` that misses sends one `cache_generate`, or one
      # `cache_fetch_hit` if it gets the value without running its own block.
      module Events
        HEARD = %w[cache_fetch_hit cache_generate].freeze
        TOLD = %i[stale exception].freeze
        private_constant :HEARD, :TOLD

        def test_a_block_and_a_hit_are_told_as_rails_does
          told = heard { 2.times { store.fetch("name") { 1 } } }
          assert_equal [["cache_generate", {}], ["cache_fetch_hit", {}]], told
        end

        # The proc is called once; later return values do not matter.
        def test_a_namespace_that_is_a_proc_is_asked_once
          answer = "one"
          namespace = -> { answer }
          named = build_store(namespace:)
          told = {}
          hear = ->(name, _start, _finish, _id, payload) { told[name[/cache_(\w+)/, 1]] = payload[:namespace] }
          ActiveSupport::Notifications.subscribed(hear, /\Acache_/) { named.fetch("name") { answer = "two" } }
          assert_equal %w[read generate write], told.keys
          assert_equal [namespace, "one", "one"], told.values
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

        def test_takeovers_are_counted
          needs_processes
          hasty = new_store(lease_ttl: 0.3, lease_wait: PATIENCE)
          process { hasty.fetch("slow") { note("began"); sleep } }
          eventually { notes.size == 1 }
          assert_equal("taken over", hasty.fetch("slow") { "taken over" })
          assert_equal 1, hasty.stats[:lease_takeovers]
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
