# frozen_string_literal: true

module Tiercel
  module Contracts
    module TagsContract
      # Entries with tags: writes, reads and invalidations.
      module Entries
        VALUES = ["text", "\xFF".b, { "id" => 1, list: [1.5, nil, :a] }, 5, nil, "long " * 5_000, Struct].freeze

        def test_an_entry_with_tags_is_read_as_one_without
          VALUES.each_with_index do |value, index|
            assert_equal true, store.write("name/#{index}", value, tags: %w[one two])
            3.times { assert_equal [value] * 2, all_reads("name/#{index}").values_at(0, 3) }
            assert_equal true, store.exist?("name/#{index}")
          end
        end

        def test_invalidated_it_is_a_miss_for_every_read
          VALUES.each_with_index do |value, index|
            store.write("name/#{index}", value, tags: ["tag/#{index}", "all"])
            2.times { store.read("name/#{index}") }
            assert_equal true, store.invalidate_tags("tag/#{index}")
            assert_equal [nil, nil, false, nil, nil], all_reads("name/#{index}")
          end
        end

        def test_any_of_its_tags_invalidates_an_entry_and_all_of_a_tag_go
          store.write_multi({ "a" => 1, "b" => 2 }, tags: %w[one two])
          store.write("c", 3, tags: "two")
          store.write("d", 4)
          store.invalidate_tags("one")
          assert_equal({ "c" => 3, "d" => 4 }, store.read_multi("a", "b", "c", "d"))
          store.invalidate_tags("none", "two")
          assert_equal({ "d" => 4 }, store.read_multi("a", "b", "c", "d"))
        end

        # A process remembers the tags that it met under a key, and asks for their generations with the entries.
        def test_a_later_read_of_several_keys_compares_what_the_entries_have_then
          read = -> { store.read_multi("a", "b", "c", "d") }
          store.write("a", 1, tags: %w[x y])
          store.write("b", 2, tags: ["z"])
          store.write_multi({ "c" => 3, "d" => 4 })
          2.times { assert_equal({ "a" => 1, "b" => 2, "c" => 3, "d" => 4 }, read.call) }
          store.invalidate_tags("y")
          2.times { assert_equal({ "b" => 2, "c" => 3, "d" => 4 }, read.call) }
          store.write("a", 5, tags: %w[y z])
          store.write("b", 6)
          store.write("c", 7, tags: ["x"])
          2.times { assert_equal({ "a" => 5, "b" => 6, "c" => 7, "d" => 4 }, read.call) }
          new_store.invalidate_tags("z")
          2.times { assert_equal({ "b" => 6, "c" => 7, "d" => 4 }, read.call) }
          store.write("a", 8, tags: ["y"], version: "1")
          2.times { assert_equal({ "a" => 8 }, store.read_multi("a", version: "1")) }
          assert_equal({}, store.read_multi("a", version: "2"))
          store.invalidate_tags("y")
          assert_equal({}, store.read_multi("a", version: "1"))
        end

        def test_another_store_sees_it
          other = new_store
          store.write("name", "value", tags: ["tag"])
          assert_equal "value", other.read("name")
          other.invalidate_tags("tag")
          assert_equal [nil, nil, false, nil, nil], all_reads("name")
        end

        def test_a_generation_that_is_lost_is_a_miss
          store.write("name", "value", tags: ["tag"])
          store.delete("tiercel:tag:tag")
          assert_nil store.read("name")
          store.write("tiercel:tag:tag", "an application's own")
          assert_equal true, store.write("name", "value", tags: ["tag"])
          assert_equal "value", store.read("name")
        end

        def test_delete_touches_no_tag
          store.write_multi({ "a" => 1, "b" => 2 }, tags: ["tag"])
          assert_equal 1, store.delete_multi(["a"])
          assert_equal({ "b" => 2 }, store.read_multi("a", "b"))
        end

        # If each entry were compared with every other one, 4 times as many entries would take 16 times as many calls.
        def test_the_calls_of_a_read_grow_with_its_entries
          calls = [100, 400].map do |count|
            names = Array.new(count) { |index| "name/#{index}" }
            names.each { |name| store.write(name, 1, tags: [name]) }
            store.read_multi(*names)
            # A near copy may end between two reads, and is read again from the last tier.
            Array.new(4) { calls_of { assert_equal count, store.read_multi(*names).size } }.min
          end
          assert_operator calls.last, :<=, 5 * calls.first
        end

        def test_what_was_invalidated_is_not_in_the_way
          store.write("name", "old", tags: ["tag"])
          assert_equal false, store.write("name", "new", unless_exist: true)
          store.invalidate_tags("tag")
          assert_equal true, store.write("name", "new", unless_exist: true)
          assert_equal "new", store.read("name")
        end

        # A counter cannot have tags, so a value with tags must not become a counter.
        def test_a_value_with_tags_is_no_counter
          store.write("count", 5, tags: ["tag"])
          assert_nil silently { store.increment("count") }
          assert_equal 5, store.read("count")
          store.invalidate_tags("tag")
          assert_equal 1, store.increment("count")
        end

        def test_frozen_values_have_tags
          frozen = new_store(frozen: true)
          frozen.write("name", { "id" => ["a"] }, tags: ["tag"])
          3.times { assert_equal({ "id" => ["a"] }, frozen.read("name")) }
          assert_predicate frozen.read("name")["id"], :frozen?
          frozen.invalidate_tags("tag")
          assert_equal [nil, nil, false, nil, nil], all_reads("name", frozen)
        end

        def test_compressed_values_and_versions_have_tags
          compressing = new_store(compressor: :zlib, compress: true, compress_threshold: 100)
          compressing.write("name", "a" * 10_000, tags: ["tag"], version: "1")
          assert_equal ["a" * 10_000, nil], [compressing.read("name", version: "1"),
                                             compressing.read("name", version: "2")]
          compressing.invalidate_tags("tag")
          assert_nil compressing.read("name", version: "1")
        end

        def test_within_a_request_one_sees_what_this_process_invalidates
          return assert_equal(false, store.backend.local_cache?) unless store.backend.local_cache?
          store.write_multi({ "a" => 1, "b" => 2, "c" => 3 }, tags: ["tag"])
          store.with_local_cache do
            assert_equal [1, 2], [store.read("a"), store.fetch("b", tags: ["tag"]) { "none" }]
            Thread.new { store.invalidate_tags("tag") }.join
            assert_equal [nil, nil, {}], [store.read("a"), store.read("b"), store.read_multi("a", "b", "c")]
            assert_equal true, store.write("a", "new", tags: ["tag"])
            assert_equal "new", store.read("a")
          end
          assert_equal "new", store.read("a")
        end

        # The request's remembered generation of the tag is older than such an entry.
        def test_within_a_request_one_reads_what_is_written_after_another_process_has_invalidated
          return assert_equal(false, store.backend.local_cache?) unless store.backend.local_cache?
          other = new_store
          store.write("a", 1, tags: ["tag"])
          store.with_local_cache do
            assert_equal 1, store.read("a")
            other.invalidate_tags("tag")
            store.write("b", 2, tags: ["tag"])
            assert_equal [2, nil], [store.read("b"), store.read("a")]
            other.invalidate_tags("tag")
            other.write_multi({ "c" => 3, "d" => 4 }, tags: ["tag"])
            assert_equal [{ "c" => 3, "d" => 4 }, 3, 4], [store.read_multi("c", "d"), store.read("c"), store.read("d")]
            assert_equal [nil, nil], [store.read("a"), store.read("b")]
          end
        end

        private

        # @return [Integer] calls that this thread makes in the block
        def calls_of(&)
          made = 0
          TracePoint.new(:call, :c_call) { made += 1 }.enable(&)
          made
        end

        def silently
          reporter = ActiveSupport.error_reporter
          ActiveSupport.error_reporter = nil
          yield
        ensure
          ActiveSupport.error_reporter = reporter
        end
      end
    end
  end
end
