# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # Deletes while a block runs: a deleted value never comes back.
      module Invalidation
        CHANGES = {
          delete: ->(store) { store.delete("name") },
          delete_multi: ->(store) { store.delete_multi(%w[name other]) },
          clear: ->(store) { store.clear },
        }.freeze

        CHANGES.each do |name, change|
          define_method(:"test_what_is_gone_by_#{name}_while_its_block_runs_stays_gone") do
            assert_equal("old", store.fetch("name") { Thread.new { change.call(store) }.join; "old" })
            assert_nil store.read("name")
            assert_equal("new", store.fetch("name") { "new" })
          end

          define_method(:"test_the_same_of_several_by_#{name}") do
            values = store.fetch_multi("name", "third") { |key| Thread.new { change.call(store) }.join; key }
            assert_equal({ "name" => "name", "third" => "third" }, values)
            assert_nil store.read("name")
          end
        end

        def test_what_another_writes_meanwhile_stays
          by_another { store.write("name", "written") }
          assert_equal "written", store.read("name")
        end

        def test_what_another_counts_meanwhile_stays
          by_another { store.increment("name", 5) }
          assert_equal 6, store.increment("name")
        end

        def test_who_reads_after_a_delete_does_not_join_what_began_before
          began = Queue.new
          finish = Queue.new
          old = Thread.new { store.fetch("name") { began << 1; finish.pop; "old" } }
          began.pop
          store.delete("name")
          assert_equal("new", store.fetch("name") { "new" })
          finish << 1
          assert_equal "old", old.value
          assert_equal "new", store.read("name")
        end

        private

        # Runs the block in a thread that started earlier, while another caller computes the value of "name".
        def by_another
          computing = Queue.new
          done = Queue.new
          other = Thread.new { computing.pop && yield.tap { done << 1 } }
          store.fetch("name") { computing << 1; done.pop; "computed" }
          other.join
        end
      end
    end
  end
end
