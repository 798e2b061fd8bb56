# frozen_string_literal: true

require "active_support/notifications"

module Tiercel
  module Contracts
    module TagsContract
      # The forms of a tag name, and the events of an invalidation.
      module Names
        Record = Struct.new(:cache_key)

        def test_tags_are_named_as_entries_are
          [["product:1", "product:1"], [:product, "product"], [%w[product 1], "product/1"],
           [Record.new("products/1"), "products/1"], ["größe", "größe"], [7, "7"]].each do |tag, same|
            store.write("name", "value", tags: [tag])
            assert_equal "value", store.read("name")
            store.invalidate_tags(same)
            assert_nil store.read("name"), "#{tag.inspect} is #{same}"
          end
        end

        def test_one_tag_needs_no_array_and_none_is_none
          store.write("name", "value", tags: :tag)
          store.invalidate_tags(:tag)
          assert_nil store.read("name")
          [nil, []].each do |none|
            store.write("name", "value", tags: none)
            assert_equal "value", store.read("name")
          end
          assert_equal true, store.invalidate_tags
        end

        def test_tags_are_within_a_namespace
          other = { namespace: "other" }
          2.times do
            store.write("name", 1, tags: ["tag"])
            store.write("name", 2, tags: ["tag"], **other)
            store.invalidate_tags("tag", **other)
            assert_equal [1, nil], [store.read("name"), store.read("name", **other)]
          end
          store.namespace = "other"
          store.write("name", 2, tags: ["tag"])
          store.invalidate_tags("tag", namespace: nil)
          assert_equal [2, nil], [store.read("name"), store.read("name", namespace: nil)]
        end

        # Keys that are too long end in a digest.
        def test_the_longest_tags_and_the_most
          long = Array.new(2) { |index| "#{"x" * 249}#{index}" }
          store.write("name", 1, tags: long)
          assert_equal 1, store.read("name")
          store.invalidate_tags(long.last)
          assert_nil store.read("name")
          store.write("name", 1, tags: Array.new(100) { |index| "tag/#{index}" })
          assert_equal 1, store.read("name")
          store.invalidate_tags("tag/99")
          assert_nil store.read("name")
        end

        def test_what_cannot_be_a_tag_is_refused_and_nothing_is_lost
          store.write("name", "there")
          [["x" * 251], [""], [nil], [{ a: 1 }], Array.new(101) { |index| index.to_s }].each do |tags|
            error = assert_raises(ArgumentError) { store.write("name", "value", tags: tags) }
            assert_match(/\Atags: .*expected/, error.message)
            assert_raises(ArgumentError) { store.fetch("other", tags: tags) { flunk } }
          end
          assert_match(/101 tags, expected at most 100/, too_many.message)
          assert_match(/251 bytes, expected at most 250/, too_long.message)
          assert_equal "there", store.read("name")
        end

        def test_raw_values_and_counters_take_none
          [-> { store.write("raw", "value", raw: true, tags: ["tag"]) },
           -> { store.increment("raw", 1, tags: ["tag"]) },
           -> { store.fetch("raw", raw: true) { |_, options| options.tags = ["tag"] } }].each do |call|
            assert_match(/raw values and counters/, assert_raises(ArgumentError, &call).message)
          end
          assert_nil store.read("raw", raw: true)
        end

        def test_a_coder_of_the_applications_own_takes_none
          own = new_store(coder: Marshal)
          assert_match(/coder:/, assert_raises(ArgumentError) { own.write("name", 1, tags: ["tag"]) }.message)
        end

        def test_an_invalidation_is_told_and_counted
          events = []
          ActiveSupport::Notifications.subscribed(->(*arguments) { events << arguments.last },
                                                  "cache_invalidate_tags.active_support") do
            store.invalidate_tags(:one, "two", "one")
          end
          assert_equal [[%w[one two], 2]], events.map { |payload| payload.values_at(:tags, :count) }
        end

        private

        def too_many = assert_raises(ArgumentError) { store.write("name", 1, tags: (1..101).to_a) }

        def too_long = assert_raises(ArgumentError) { store.invalidate_tags("x" * 251) }
      end
    end
  end
end
