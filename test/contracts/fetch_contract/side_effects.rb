# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # Blocks, overriding methods and subscribers that change the cache during a fetch.
      module SideEffects
        DELETIONS = {
          delete: ->(store) { store.delete("views/7") },
          delete_with_options: ->(store) { store.delete("views/7", namespace: nil) },
          delete_multi: ->(store) { store.delete_multi(["views/7"]) },
        }.freeze

        # Changes, other than deletes, that a block may make to its own key.
        CHANGES = {
          write: ->(store) { store.write("name", "inner") },
          write_that_expires: ->(store) { store.write("name", "inner", expires_in: 60, race_condition_ttl: 1) },
          write_raw: ->(store) { store.write("name", "7", raw: true) },
          write_multi: ->(store) { store.write_multi({ "name" => "inner", "other" => 1 }) },
          write_multi_that_expires: ->(store) { store.write_multi({ "name" => "inner" }, expires_in: 60) },
          write_unless_exist: ->(store) { store.write("name", "inner", unless_exist: true) },
          increment: ->(store) { 3.times { store.increment("name") } },
          fetch: ->(store) { store.fetch("name") { "inner" } },
          fetch_by_force: ->(store) { store.fetch("name", force: true) { "inner" } },
          fetch_multi: ->(store) { store.fetch_multi("name", "another") { "inner" } },
          write_in_a_thread: ->(store) { Thread.new { store.write("name", "inner") }.join },
        }.freeze
        CALLS = {
          fetch: ->(store, change) { store.fetch("name") { change.call(store); "outer" } },
          fetch_that_expires: ->(store, change) { store.fetch("name", expires_in: 60) { change.call(store); "outer" } },
          fetch_multi: lambda do |store, change|
            store.fetch_multi("first", "name", "last") { |name| change.call(store) if name == "name"; "outer" }["name"]
          end,
        }.freeze

        CALLS.each do |call_name, call|
          CHANGES.each do |change_name, change|
            define_method(:"test_a_block_that_changes_its_own_key_has_the_last_word_#{change_name}_in_#{call_name}") do
              assert_equal "outer", call.call(store, change)
              assert_equal "outer", store.read("name")
            end
          end
        end

        def test_a_write_that_also_writes_to_a_second_store
          second = closed_later(Tiercel.new("memory:"))
          twice = Module.new do
            define_method(:write) do |name, value, options = nil|
              second.write(name, value, expires_in: 60, race_condition_ttl: 5)
              super(name, value, options)
            end
          end
          store.extend(twice)
          assert_equal("value", store.fetch("name") { "value" })
          assert_equal %w[value value], [store.read("name"), second.read("name")]
        end

        def test_a_subscriber_that_copies_into_a_second_store
          second = closed_later(Tiercel.new("memory:"))
          copies = copied_to(second) do
            store.fetch("name") { "value" }
            store.fetch("expires", expires_in: 60) { "value" }
          end
          assert_equal [true, true], copies
          assert_equal [%w[value value], %w[copy copy]], [store, second].map { |each| read_both(each) }
        end

        def test_a_block_that_writes_its_key_to_a_second_store
          second = closed_later(Tiercel.new("memory:"))
          assert_equal("value", store.fetch("name") { second.write("name", "copy") && "value" })
          assert_equal %w[value copy], [store.read("name"), second.read("name")]
        end

        def test_a_subscriber_that_writes_the_same_key_has_the_last_word
          copied_to(store) { store.fetch("name", expires_in: 60) { "value" } }
          assert_equal "copy", store.read("name")
        end

        DELETIONS.each do |name, deletion|
          define_method(:"test_a_block_that_deletes_its_own_key_by_#{name}_is_logged_once") do
            log = logged(Logger::WARN) do
              2.times { assert_equal("value", store.fetch("views/7") { deletion.call(store); "value" }) }
              store.fetch_multi("views/7", "views/8") { deletion.call(store); "value" }
            end
            assert_nil store.read("views/7")
            assert_equal 1, log.scan(%r{stores nothing under \*/\*: the block deletes its own key}).size, log
          end
        end

        def test_a_key_that_others_delete_is_not_logged
          log = logged(Logger::WARN) do
            deleted = Queue.new
            other = Thread.new { deleted.pop && store.delete("views/7") }
            store.fetch("views/7") { deleted << true && other.join && "value" }
            store.fetch("views/8") { store.delete("views/9"); "value" }
          end
          assert_equal [nil, "value"], [store.read("views/7"), store.read("views/8")]
          refute_match(/deletes its own key/, log)
        end

        private

        def read_both(store) = %w[name expires].map { |name| store.read(name) }

        # @return [Array<Boolean, nil>] results of writing a copy of each written key
        def copied_to(second)
          answers = []
          copying = false
          copy = lambda do |*, payload|
            next if copying
            copying = true
            answers << second.write(payload[:key], "copy", expires_in: 60)
            copying = false
          end
          ActiveSupport::Notifications.subscribed(copy, "cache_write.active_support") { yield }
          answers
        end
      end
    end
  end
end
