# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # fetch: on a miss the block runs once, and its value is stored.
      module Fetching
        def test_fetch_runs_the_block_on_a_miss_and_keeps_its_value
          runs = 0
          2.times { assert_equal("made", store.fetch("name") { runs += 1; "made" }) }
          assert_equal 1, runs
          assert_equal "made", store.read("name")
        end

        def test_fetch_gives_the_very_object_of_the_block
          made = +"made"
          assert_same made, store.fetch("name") { made }
          made << " and changed"
          assert_equal "made", store.read("name")
        end

        def test_the_block_gets_the_name_as_it_was_passed
          name = ["views", Record.new("products/1", nil)]
          seen = nil
          store.fetch(name) { |given| seen = given; 1 }
          assert_same name, seen
        end

        def test_fetch_without_a_block_reads
          store.write("name", "value")
          assert_equal "value", store.fetch("name")
        end

        def test_force_runs_the_block_whatever_is_there
          store.write("name", "old")
          assert_equal("new", store.fetch("name", force: true) { "new" })
          assert_equal "new", store.read("name")
        end

        def test_force_without_a_block_is_an_error
          store.write("name", "old")
          error = assert_raises(ArgumentError) { store.fetch("name", force: true) }
          assert_match(/block/i, error.message)
          assert_equal "old", store.read("name")
        end

        def test_a_nil_is_kept_unless_skip_nil
          assert_nil(store.fetch("kept") { nil })
          assert_equal true, store.exist?("kept")
          assert_nil(store.fetch("skipped", skip_nil: true) { nil })
          assert_equal false, store.exist?("skipped")
          assert_equal(false, store.fetch("false", skip_nil: true) { false })
          assert_equal true, store.exist?("false")
        end

        def test_skip_nil_of_the_store
          skipping = new_store(skip_nil: true)
          assert_nil(skipping.fetch("name") { nil })
          assert_equal false, skipping.exist?("name")
          assert_equal true, skipping.write("name", nil)
          assert_equal true, skipping.exist?("name"), "skip_nil is about fetch only"
        end

        def test_what_the_block_raises_comes_out_and_nothing_is_kept
          assert_raises(IOError) { store.fetch("name") { raise IOError } }
          assert_equal :thrown, catch(:done) { store.fetch("name") { throw :done, :thrown } }
          assert_equal false, store.exist?("name")
          assert_equal("made", store.fetch("name") { "made" })
        end

        def test_the_block_sets_options_of_the_write
          store.fetch("name") do |_name, options|
            options.expires_in = 30
            options.version = "v7"
            "value"
          end
          assert_equal "value", store.read("name", version: "v7")
          assert_nil store.read("name", version: "v8")
          later(31) { assert_nil store.read("name") }
        end

        def test_the_block_sets_expires_at
          store.fetch("name") { |_name, options| options.expires_at = Time.now + 30; "value" }
          later(15) { assert_equal "value", store.read("name") }
          later(31) { assert_nil store.read("name") }
        end

        def test_the_block_reads_the_options_of_the_call
          store.fetch("name", expires_in: 30, version: "v1") do |_name, options|
            assert_equal 30, options.expires_in
            assert_equal "v1", options.version
            assert_nil options.expires_at
            1
          end
          assert store.exist?("name")
        end

        def test_options_set_in_the_block_change_neither_the_store_nor_the_callers_hash
          options_before = store.options.dup
          call_options = { expires_in: 60 }.freeze
          store.fetch("name", call_options) { |_name, options| options.expires_in = 5; 1 }
          assert_equal options_before, store.options
          assert_equal({ expires_in: 60 }, call_options)
        end
      end
    end
  end
end
