# frozen_string_literal: true

module Tiercel
  module Contracts
    module BackendContract
      # Tests of reads and writes, of unusual keys, and of deletes, scans and clears.
      module Values
        KEYS = {
          plain: "users/1",
          utf8: "größe/☃",
          binary: "\x00\xFF\x01 key".b,
          spaces: "a key with spaces\tand\r\nlines",
          slashes: "../../etc/passwd",
          percent: "100%/a%2Fb",
          long: "k" * 250,
        }.freeze

        VALUES = {
          empty: "".b,
          one_byte: "\x00".b,
          all_bytes: (0..255).map(&:chr).join.b,
          lines: "VALUE x 0 1\r\n\r\nEND\r\n".b,
          kilobyte: ("x" * 1024).b,
        }.freeze

        def test_get_of_an_absent_key_is_nil
          assert_nil backend.get("absent")
          assert_nil backend.get_with_token("absent")
        end

        KEYS.each do |name, key|
          define_method("test_key_#{name}") do
            assert_equal true, backend.set(key, "value")
            assert_equal "value".b, backend.get(key)
            assert_includes backend.get_multi([key]), key
            assert_includes backend.scan.map(&:b).to_a, key.b
            assert_equal true, backend.delete(key)
            assert_nil backend.get(key)
          end
        end

        def test_a_key_is_its_bytes_whatever_the_encoding
          backend.set("schön", "value")
          assert_equal "value".b, backend.get("schön".b)
        end

        VALUES.each do |name, value|
          define_method("test_value_#{name}") do
            assert_equal true, backend.set("key", value)
            found = backend.get("key")
            assert_equal value, found
            assert_equal Encoding::BINARY, found.encoding
            assert_equal value, backend.get_multi(["key"])["key"]
            assert_equal value, backend.get_with_token("key").first
          end
        end

        def test_the_encodings_of_the_application_change_nothing
          before, $VERBOSE = $VERBOSE, nil
          Encoding.default_internal = Encoding::UTF_8
          value = Random.new(3).bytes(100_000)
          assert_equal [true, value], [backend.set("schön", value), backend.get("schön")]
          assert_equal ["schön".b], backend.scan.map(&:b)
        ensure
          Encoding.default_internal = nil
          $VERBOSE = before
        end

        def test_a_large_value
          value = Random.new(1).bytes(large_value_bytes)
          assert_equal true, backend.set("large", value)
          assert_equal value, backend.get("large")
        end

        def test_multi_operations
          assert_equal true, backend.set_multi({ "a" => "1", "b" => "", "ö" => "3" })
          keys = ["ö", "absent", "a", "b"]
          found = backend.get_multi(keys)
          assert_equal({ "ö" => "3".b, "a" => "1".b, "b" => "".b }, found)
          assert_equal ["ö", "a", "b"], found.keys
          assert_equal 2, backend.delete_multi(["a", "absent", "ö"])
          assert_equal({ "b" => "".b }, backend.get_multi(keys))
        end

        def test_scan_yields_the_keys
          keys = (1..50).map { |index| "a:#{index}" } + (1..20).map { |index| "b:#{index}" }
          keys.each { |key| backend.set(key, "x") }
          assert_equal keys.map(&:b).sort, backend.scan.map(&:b).sort.uniq
          assert_equal keys.grep(/\Ab:/).map(&:b).sort, backend.scan("b:").map(&:b).sort.uniq
          assert_empty backend.scan("c").to_a
          yielded = []
          backend.scan("a:4") { |key| yielded << key.b }
          assert_equal 11, yielded.uniq.size
        end

        def test_scan_takes_a_prefix_literally
          backend.set("a*b:1", "x")
          backend.set("axb:1", "x")
          backend.set("a[1]?:1", "x")
          assert_equal ["a*b:1".b], backend.scan("a*b").map(&:b).uniq
          assert_equal ["a[1]?:1".b], backend.scan("a[1]?").map(&:b).uniq
        end

        def test_a_stop_iteration_of_the_caller_passes_a_scan
          backend.set("key", "x")
          assert_raises(StopIteration) { backend.scan { raise StopIteration } }
        end

        def test_entries_can_be_deleted_during_a_scan
          200.times { |index| backend.set("key#{index}", "x") }
          backend.scan { |key| backend.delete(key) }
          assert_empty backend.scan.to_a
        end

        def test_clear
          10.times { |index| backend.set("key#{index}", "x") }
          backend.clear
          assert_empty backend.get_multi((0...10).map { |index| "key#{index}" })
          assert_equal true, backend.set("key1", "again")
          assert_equal "again".b, backend.get("key1")
        end

        def test_clear_with_a_prefix_leaves_the_rest
          backend.set("one:a", "x")
          backend.set("one:b", "x")
          backend.set("two:a", "x")
          backend.clear("one:")
          assert_equal ["two:a"], backend.get_multi(["one:a", "one:b", "two:a"]).keys
        end
      end
    end
  end
end
