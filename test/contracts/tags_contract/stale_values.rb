# frozen_string_literal: true

module Tiercel
  module Contracts
    module TagsContract
      # An invalidated entry is never served, even if stale values are allowed.
      module StaleValues
        WINDOWS = { stale_while_revalidate: 600, stale_if_error: 600 }.freeze

        def test_what_has_ended_is_served_stale_until_it_is_invalidated
          lenient = new_store(lease: true, **WINDOWS)
          lenient.write_multi({ "a" => "old", "b" => "old" }, expires_in: 60, tags: ["tag"])
          MovedClock.by(61) do
            assert_equal("old", lenient.fetch("a") { raise IOError })
            lenient.invalidate_tags("tag")
            assert_raises(IOError) { lenient.fetch("b") { raise IOError } }
            assert_equal("new", lenient.fetch("b") { "new" })
          end
        end

        def test_nobody_is_given_it_while_another_refreshes
          lenient = new_store(lease: true, **WINDOWS)
          lenient.write("name", "old", expires_in: 60, tags: ["tag"])
          MovedClock.by(61) do
            refreshing = Queue.new
            finish = Queue.new
            refresher = Thread.new { lenient.fetch("name", tags: ["tag"]) { refreshing << 1; finish.pop } }
            refreshing.pop
            assert_equal("old", lenient.fetch("name", tags: ["tag"]) { "new" })
            lenient.invalidate_tags("tag")
            values = Array.new(3) { Thread.new { lenient.fetch("name", tags: ["tag"]) { "new" } } }
            eventually { values.all?(&:stop?) }
            finish << "late"
            assert_equal [["new"], "late"], [values.map(&:value).uniq, refresher.value]
          end
        end

        # Rails writes an expired entry back for a while, with its old tags.
        { with_leases: true, without: false }.each do |kind, lease|
          define_method(:"test_race_condition_ttl_keeps_the_tags_#{kind}") do
            racing = new_store(lease: lease, race_condition_ttl: 30)
            racing.write("name", "old", expires_in: 60, tags: ["tag"])
            MovedClock.by(61) do
              racing.fetch("name", tags: ["tag"]) do
                assert_equal "old", racing.read("name")
                racing.invalidate_tags("tag")
                assert_nil racing.read("name")
                "late"
              end
              assert_nil racing.read("name")
            end
          end
        end

        def test_an_entry_with_tags_ends
          store.write("name", "value", expires_in: 60, tags: ["tag"])
          assert_equal "value", store.read("name")
          MovedClock.by(61) { assert_equal [nil, false], [store.read("name"), store.exist?("name")] }
        end
      end
    end
  end
end
