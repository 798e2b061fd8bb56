# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # A read returns the written value.
      module ReadingAndWriting
        def test_a_value_comes_back_as_it_was
          storable_values.each_with_index do |value, index|
            assert_equal true, store.write("value#{index}", value), "write of #{value.class}"
            back = store.read("value#{index}")
            value.nil? ? assert_nil(back) : assert_equal(value, back)
            assert_equal value.class, back.class
            assert_equal value.encoding, back.encoding if value.is_a?(String)
          end
        end

        def test_an_absent_name_reads_as_nil
          assert_nil store.read("absent")
          assert_equal false, store.exist?("absent")
          assert_nil store.fetch("absent")
        end

        def test_nil_and_false_are_values
          store.write("nil", nil)
          store.write("false", false)
          assert_equal true, store.exist?("nil")
          assert_equal true, store.exist?("false")
          assert_equal({ "nil" => nil, "false" => false }, store.read_multi("nil", "false"))
          assert_nil(store.fetch("nil") { flunk "a cached nil is a hit" })
          assert_equal(false, store.fetch("false") { flunk "a cached false is a hit" })
        end

        def test_what_is_done_to_a_value_afterwards_does_not_reach_the_cache
          written = { "list" => ["a"] }
          text = +"text"
          store.write("hash", written)
          store.write("string", text)
          written["list"] << "b"
          text << " and more"
          assert_equal({ "list" => ["a"] }, store.read("hash"))
          assert_equal "text", store.read("string")
        end

        def test_long_strings_that_are_read_again_and_again
          %w[first second third].each do |word|
            text = "\u00e9#{word}" * 1_000
            store.write("string", text)
            6.times do
              values = [store.read("string"), store.fetch("string") { flunk "a hit" },
                        store.read_multi("string")["string"], store.fetch_multi("string") { flunk "a hit" }["string"]]
              expected = [text, text.encoding, false]
              assert_equal [expected], values.map { |value| [value, value.encoding, value.frozen?] }.uniq
              values.each { |value| value.setbyte(0, 0) && value << "changed" }
            end
          end
          store.delete("string")
          assert_nil store.read("string")
        end

        def test_each_read_gives_an_object_of_its_own
          store.write("hash", { "list" => ["a"] })
          store.write("string", "text")
          store.read("hash")["list"] << "b"
          store.read("string") << " and more"
          store.read_multi("hash", "string").each_value(&:clear)
          assert_equal({ "list" => ["a"] }, store.read("hash"))
          assert_equal "text", store.read("string")
        end

        def test_delete_tells_whether_something_was_there
          store.write("name", "value")
          assert_equal true, store.delete("name")
          assert_equal false, store.exist?("name")
          assert_nil store.read("name")
          assert_equal false, store.delete("name")
        end

        def test_a_value_that_cannot_be_dumped_raises_and_writes_nothing
          skip "this store's serializer takes every value" if store.options[:raw]
          assert_raises(StandardError) { store.write("name", -> {}) }
          assert_equal false, store.exist?("name")
        end
      end
    end
  end
end
