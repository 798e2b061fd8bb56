# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # Blocks, overriding methods and subscribers that change the cache during a fetch.
      module SideEffects
        # A block's change of its own key is newer than the value that the block returns.
        def test_a_blocks_change_of_its_own_key_stays
          { "inner" => ->(name) { store.write(name, "inner") }, 3 => ->(name) { 3.times { store.increment(name) } },
            "outer" => ->(name) { store.fetch(name) { "made" } },
            "threaded" => ->(name) { Thread.new { store.write(name, "threaded") }.join },
            nil => ->(name) { store.delete(name) } }.each do |kept, change|
            name = "one/#{kept}"
            assert_equal("outer", store.fetch(name, expires_in: 60) { change.call(name); "outer" })
            assert_equal [kept], [read_any(name)]
            name = "several/#{kept}"
            values = store.fetch_multi("first", name) { |each| change.call(name) if each == name; "outer" }
            assert_equal ["outer", kept], [values[name], read_any(name)]
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

        private

        def read_any(name) = store.read(name, raw: true).then { |value| value&.match?(/\A\d+\z/) ? value.to_i : value }

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
