# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # Keys with a namespace as their prefix.
      module Namespaces
        def test_a_namespace_is_put_before_the_key
          spaced = new_store(namespace: "space")
          assert_equal "space", spaced.namespace
          spaced.write("name", "value")
          assert_equal "value", spaced.read("name")
          assert_equal "value", spaced.read("space:name", namespace: nil)
          assert_nil spaced.read("name", namespace: nil)
        end

        def test_a_namespace_of_the_call_replaces_that_of_the_store
          spaced = new_store(namespace: "space")
          spaced.write("name", "other", namespace: "other")
          assert_nil spaced.read("name")
          assert_equal "other", spaced.read("name", namespace: "other")
          assert_equal({ "name" => "other" }, spaced.read_multi("name", namespace: "other"))
          assert_equal "other", spaced.fetch("name", namespace: "other") { "absent" }
          assert_equal true, spaced.exist?("name", namespace: "other")
          assert_equal 1, spaced.delete_multi(["name"], namespace: "other")
        end

        def test_a_proc_is_asked_for_each_call
          current = "one"
          spaced = new_store(namespace: -> { current })
          spaced.write("name", 1)
          current = "two"
          assert_nil spaced.read("name")
          spaced.write("name", 2)
          current = "one"
          assert_equal 1, spaced.read("name")
          assert_equal 1, spaced.fetch("name") { 9 }
          assert_equal 1, spaced.read("one:name", namespace: nil)
          assert_equal 2, spaced.read("name", namespace: -> { "two" })
        end

        def test_a_proc_may_say_none
          spaced = new_store(namespace: -> {})
          spaced.write("name", 1)
          assert_equal 1, spaced.read("name", namespace: nil)
        end

        def test_the_namespace_can_be_set_later
          changing = new_store
          changing.namespace = "later"
          changing.write("name", 1)
          assert_equal "later", changing.namespace
          assert_equal 1, changing.read("later:name", namespace: nil)
          changing.namespace = nil
          assert_nil changing.read("name")
          assert_equal 1, changing.read("later:name")
        end

        def test_counters_have_namespaces
          spaced = new_store(namespace: "space")
          assert_equal 1, spaced.increment("name")
          assert_equal 5, spaced.increment("name", 5, namespace: "other")
          assert_equal 2, spaced.increment("name")
          assert_equal 4, spaced.decrement("name", 1, namespace: "other")
          assert_equal 2, spaced.read_counter("name")
          assert_equal 4, spaced.read_counter("name", namespace: "other")
        end

        def test_long_names_behind_a_namespace
          spaced = new_store(namespace: "space")
          spaced.write("n" * 300, 1)
          assert_equal 1, spaced.read("n" * 300)
          assert_operator spaced.stored_key("n" * 300).bytesize, :<=, 250
          assert spaced.stored_key("n" * 300).start_with?("space:n")
        end
      end
    end
  end
end
