# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # Several names in one call.
      module MultiOperations
        def test_read_multi_gives_what_is_there_in_the_order_asked_for
          store.write("a", 1)
          store.write("b", nil)
          store.write("c", false)
          assert_equal({ "c" => false, "a" => 1, "b" => nil }, store.read_multi("c", "absent", "a", "b"))
          assert_equal %w[c a b], store.read_multi("c", "absent", "a", "b").keys
        end

        def test_nothing_asked_nothing_done
          assert_equal({}, store.read_multi)
          assert_equal({}, store.fetch_multi { flunk "there is no name to make a value for" })
          assert_equal({}, store.write_multi({}))
          assert_equal 0, store.delete_multi([])
        end

        def test_names_of_every_kind_are_the_keys_of_the_result
          names = [:symbol, ["a", 1], Record.new("records/1", nil), "string"]
          names.each_with_index { |name, index| store.write(name, index) }
          assert_equal names.each_with_index.to_h, store.read_multi(*names)
          assert_equal names.each_with_index.to_h, store.fetch_multi(*names) { flunk "all are there" }
        end

        def test_the_same_name_twice
          store.write("a", 1)
          assert_equal({ "a" => 1 }, store.read_multi("a", "a"))
          runs = 0
          assert_equal({ "b" => 2 }, store.fetch_multi("b", "b") { runs += 1; 2 })
          assert_equal 2, store.read("b")
        end

        def test_write_multi
          assert store.write_multi({ "a" => 1, :b => nil, ["c", 1] => [false] })
          assert_equal [1, nil, [false]], [store.read("a"), store.read("b"), store.read("c/1")]
          assert_equal true, store.exist?("b")
        end

        def test_write_multi_with_options
          store.write_multi({ "a" => 1, "b" => 2 }, expires_in: 10)
          store.write_multi({ "a" => 3 }, namespace: "other")
          assert_equal 1, store.read("a")
          assert_equal 3, store.read("a", namespace: "other")
          later(11) { assert_equal({}, store.read_multi("a", "b")) }
        end

        def test_write_multi_unless_exist
          store.write("a", 1)
          store.write_multi({ "a" => 2, "b" => 2 }, unless_exist: true)
          assert_equal({ "a" => 1, "b" => 2 }, store.read_multi("a", "b"))
        end

        def test_fetch_multi_makes_what_is_missing
          store.write("a", "there")
          made = []
          values = store.fetch_multi("b", "a", "c") { |name| made << name; name * 2 }
          assert_equal({ "b" => "bb", "a" => "there", "c" => "cc" }, values)
          assert_equal %w[b a c], values.keys
          assert_equal %w[b c], made
          assert_equal({ "b" => "bb", "c" => "cc" }, store.read_multi("b", "c"))
        end

        def test_fetch_multi_with_skip_nil
          values = store.fetch_multi("a", "b", skip_nil: true) { |name| 1 if name == "b" }
          assert_equal({ "a" => nil, "b" => 1 }, values)
          assert_equal [false, true], [store.exist?("a"), store.exist?("b")]
          assert_equal({ "c" => nil }, store.fetch_multi("c") { nil })
          assert_equal true, store.exist?("c")
        end

        def test_fetch_multi_with_expires_in
          store.fetch_multi("a", "b", expires_in: 60) { 1 }
          later(40) { assert_equal({ "a" => 1, "b" => 1 }, store.read_multi("a", "b")) }
          later(61) { assert_equal({ "a" => 2 }, store.fetch_multi("a") { 2 }) }
        end

        def test_what_the_block_of_fetch_multi_raises_comes_out
          assert_raises(IOError) { store.fetch_multi("a", "b") { |name| name == "b" ? raise(IOError) : 1 } }
          assert_equal({}, store.read_multi("a", "b"))
        end

        def test_delete_multi_counts_what_was_there
          store.write_multi({ "a" => 1, "b" => 2, "c" => 3 })
          assert_equal 2, store.delete_multi(["a", :b, "absent"])
          assert_equal({ "c" => 3 }, store.read_multi("a", "b", "c"))
        end

        def test_arguments_are_not_changed
          names = ["a", :b, ["c", 1]].freeze
          hash = { "a" => 1 }.freeze
          options = { expires_in: 10 }.freeze
          assert store.write_multi(hash, options)
          store.read_multi(*names, options)
          store.fetch_multi(*names, options) { 1 }
          assert_equal 3, store.delete_multi(names)
        end
      end
    end
  end
end
