# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # `raw: true`: bytes without a frame, for exchange with other programs.
      module RawValues
        def test_raw_values_are_strings
          [["text", "text"], [1, "1"], [1.5, "1.5"], ["", ""]].each do |value, text|
            assert_equal true, store.write("name", value, raw: true)
            assert_equal text, store.read("name", raw: true)
          end
        end

        # Rate limiters write counters with `raw: true` and read them without, and also write values without a raw form.
        def test_a_value_is_read_in_the_other_way_too
          [:symbol, nil, { "hash" => [1] }, "\xF5\x01 begins like a frame".b].each do |value|
            assert_equal true, store.write("name", value, raw: true)
            assert_equal [value, value, [value]], [store.read("name", raw: true), store.read("name"),
                                                   store.read_multi("name").values], value.inspect
            assert_equal([value] * 2, [store.fetch("name") { flunk }, store.fetch("name", raw: true) { flunk }])
          end
          store.write("framed", { "hash" => 1 })
          store.write_multi({ "text" => "text", "count" => 7 }, raw: true)
          assert_equal({ "framed" => { "hash" => 1 }, "text" => "text" }, store.read_multi("framed", "text", raw: true))
          assert_equal({ "framed" => { "hash" => 1 }, "text" => "text", "count" => 7 },
                       store.read_multi("framed", "text", "count"))
          assert_equal ["text", true], [store.read("text"), store.exist?("text")]
        end

        def test_raw_bytes_are_what_the_backend_keeps
          store.write("name", "bytes", raw: true)
          assert_equal "bytes".b, store.backend.get(key_of("name"))
          store.backend.set(key_of("other"), "from elsewhere")
          assert_equal "from elsewhere", store.read("other", raw: true)
        end

        def test_raw_text_is_utf_8_where_it_can_be
          store.write("text", "\u00fcml\u00e4ut", raw: true)
          assert_equal "\u00fcml\u00e4ut", store.read("text", raw: true)
          assert_equal Encoding::UTF_8, store.read("text", raw: true).encoding
          store.write("bytes", "\xFF\x00".b, raw: true)
          assert_equal "\xFF\x00".b, store.read("bytes", raw: true)
        end

        def test_raw_in_fetch_and_multi_operations
          assert_equal("text", store.fetch("a", raw: true) { "text" })
          assert_equal("text", store.fetch("a", raw: true) { flunk "it is there" })
          store.write_multi({ "b" => 2, "c" => "three" }, raw: true)
          assert_equal({ "a" => "text", "b" => "2", "c" => "three" }, store.read_multi("a", "b", "c", raw: true))
          assert_equal({ "c" => "three", "d" => "four" }, store.fetch_multi("c", "d", raw: true) { "four" })
          assert_equal "four", store.read("d", raw: true)
        end

        def test_raw_values_end
          needs_own_clock
          store.write("name", "text", raw: true, expires_in: 60)
          later(40) { assert_equal "text", store.read("name", raw: true) }
          later(61) do
            assert_nil store.read("name", raw: true)
            assert_equal false, store.exist?("name", raw: true)
          end
        end

        def test_a_store_of_raw_values
          raw = new_store(raw: true)
          raw.write("name", 1)
          assert_equal "1", raw.read("name")
          assert_equal 2, raw.increment("name")
          assert_equal "2", raw.fetch("name") { "absent" }
          assert_equal({ "name" => "2" }, raw.read_multi("name"))
        end
      end
    end
  end
end
