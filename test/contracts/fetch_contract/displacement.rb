# frozen_string_literal: true

module Tiercel
  module Contracts
    module FetchContract
      # Callers that want another version, or pass other tags, while a block runs: for example, a record is touched
      # while its fragment renders. The newer version is computed once and stored; the older one stores nothing.
      module Displacement
        Record = Struct.new(:cache_version) do
          def cache_key = "records/1"
        end

        def test_a_version_that_comes_while_another_is_computed_is_computed_once_and_stored
          while_computed(store, Record.new("1")) do
            runs = Queue.new
            values = in_threads(6) { store.fetch(Record.new("2")) { runs << 1; others_wait(store); "two" } }
            assert_equal [["two"], 1], [values.uniq, runs.size]
            assert_equal "two", store.read(Record.new("2"))
          end
          assert_equal "two", store.read(Record.new("2"))
        end

        def test_the_older_version_goes_to_its_own_callers_and_is_not_stored
          began, finish = Queue.new, Queue.new
          older = Thread.new { store.fetch(Record.new("1")) { began << 1; finish.pop; "one" } }
          began.pop
          assert_equal("two", store.fetch(Record.new("2")) { "two" })
          finish << 1
          assert_equal "one", older.value
          assert_equal "two", store.read(Record.new("2"))
        end

        def test_what_is_deleted_beside_another_version_is_computed_anew
          while_computed(store, Record.new("1")) do
            while_computed(store, Record.new("2"), "old") do
              store.delete(Record.new("2"))
              assert_equal("new", store.fetch(Record.new("2")) { "new" })
            end
          end
          assert_equal "new", store.read(Record.new("2"))
        end

        def test_callers_that_name_different_tags
          while_computed(store, "name", tags: %w[a b]) do
            runs = Queue.new
            values = in_threads(6) { store.fetch("name", tags: ["a"]) { runs << 1; others_wait(store); "made" } }
            assert_equal [["made"], 1], [values.uniq, runs.size]
          end
          assert_equal "made", store.read("name")
        end

        def test_callers_beside_another_that_name_different_tags
          while_computed(store, "name", tags: %w[a b]) do
            while_computed(store, "name", tags: ["c"]) do
              assert_equal("own", store.fetch("name", tags: ["a"]) { "own" })
            end
          end
        end

        private

        # Yields while another caller computes the name.
        def while_computed(store, name, value = "late", **options)
          began, finish = Queue.new, Queue.new
          caller = Thread.new { store.fetch(name, **options) { began << 1; finish.pop(timeout: PATIENCE * 3); value } }
          began.pop
          yield
        ensure
          finish << 1
          caller.join
        end
      end
    end
  end
end
