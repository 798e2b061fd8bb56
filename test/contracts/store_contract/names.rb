# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # Conversion of names to keys.
      module Names
        # An object with `to_param` only.
        Parameter = Struct.new(:to_param)
        # An object with both a key and a name for views (`to_param`).
        Keyed = Struct.new(:cache_key) { def to_param = "not this" }

        # A value written under the first name is found under the second one.
        SAME_KEYS = [
          [:symbol, "symbol"], [["a", "b"], "a/b"], [[:a, 1], "a/1"], [["single"], "single"],
          [[["a", "b"], "c"], "a/b/c"],
          [["a", nil], "a/"], [1, "1"], [1.5, "1.5"], [{ "b" => 2, "a" => 1 }, "a=1/b=2"],
          [Parameter.new("param"), "param"], [Parameter.new("7"), "7"],
          [Keyed.new("keyed/1"), "keyed/1"], [[Keyed.new("keyed/2")], "keyed/2"],
          [[:views, "products:0123abcd", Keyed.new("keyed/3")], "views/products:0123abcd/keyed/3"],
          [[Parameter.new("x"), { "k" => [1, 2] }], "x/k=[1, 2]"]
        ].freeze

        BLANK = [nil, "", [], {}, Parameter.new(nil), Parameter.new(""), Keyed.new("")].freeze

        def test_names_that_are_the_same_key
          SAME_KEYS.each do |name, key|
            assert_equal true, store.write(name, "value of #{key}")
            assert_equal "value of #{key}", store.read(key), name.inspect
            assert_equal "value of #{key}", store.fetch(name) { "absent" }, name.inspect
            assert_equal({ name => "value of #{key}" }, store.read_multi(name, {}))
            assert_equal true, store.exist?(name)
            assert_equal true, store.delete(name), name.inspect
            assert_equal false, store.exist?(key)
          end
        end

        def test_blank_names_are_errors
          BLANK.each do |name|
            assert_raises(ArgumentError, name.inspect) { store.read(name) }
            assert_raises(ArgumentError, name.inspect) { store.write(name, 1) }
            assert_raises(ArgumentError, name.inspect) { store.fetch(name) { 1 } }
            assert_raises(ArgumentError, name.inspect) { store.delete(name) }
            assert_raises(ArgumentError, name.inspect) { store.exist?(name) }
            assert_raises(ArgumentError, name.inspect) { store.increment(name) }
            assert_raises(ArgumentError, name.inspect) { store.read_multi("a", name) } unless name.is_a?(Hash)
          end
        end

        def test_the_key_of_a_record_leaves_its_version_out
          record = Class.new do
            def cache_key = "records/1"
            def cache_key_with_version = "records/1-7"
          end.new
          store.write(record, "value")
          assert_equal "value", store.read("records/1")
        end

        def test_a_name_is_not_changed
          names = [+"string", ["a", +"b"], { "k" => 1 }]
          copies = Marshal.load(Marshal.dump(names))
          names.each { |name| store.write(name, 1) && store.read(name) }
          names.each { |name| store.fetch(name) { 2 } && store.delete(name) }
          assert_equal copies, names
        end

        def test_odd_characters
          names = ["#/:*(<+=> )&$%@?;'\"`~-", "a b\tc\nd", "nul\0byte", "../../etc/passwd", "\u00fcml\u00e4ut",
                   "\u{1F986}", "%41", "*", "[a-z]", "-", "."]
          names.each do |name|
            assert_equal true, store.write(name, name), name.inspect
            assert_equal name, store.read(name), name.inspect
            assert_equal true, store.delete(name), name.inspect
            store.write(name, name)
          end
          assert_equal names.size, store.delete_matched(/^(?!tiercel:probe:)/) # a key of 100 ms of the bus on Redis
          assert_empty store.read_multi(*names)
        end

        def test_keys_in_every_encoding
          Encoding.list.each do |encoding|
            name = "name_#{encoding.name}".dup.force_encoding(encoding)
            assert_equal true, store.write(name, "1", raw: true), encoding.name
            assert_equal "1", store.read(name, raw: true), encoding.name
            assert_equal 2, store.increment(name), encoding.name
            assert_equal({ name => "2" }, store.read_multi(name, raw: true), encoding.name)
            assert_equal true, store.delete(name), encoding.name
            assert_equal encoding, name.encoding
          end
        end

        def test_encodings_do_not_tell_names_apart
          store.write("\u00fcml\u00e4ut", "value")
          assert_equal "value", store.read("\u00fcml\u00e4ut".b)
          assert_equal "value", store.read("\u00fcml\u00e4ut".dup.force_encoding(Encoding::ISO_8859_1))
        end

        def test_long_names_are_told_apart
          name = "long" * 8_192
          assert_equal true, store.write(name, "value")
          assert_equal "value", store.read(name)
          assert_equal "value", store.fetch(name) { "absent" }
          assert_nil store.read("#{name}x")
          assert_nil store.read("x#{name}")
          assert_equal({ name => "value" }, store.read_multi(name, "#{name}x"))
          assert_equal 1, store.increment("#{name}n")
          assert_equal true, store.delete(name)
        end

        def test_max_key_size
          bounded = new_store(max_key_size: 64, namespace: nil)
          ["n" * 100, "\u{1F986}" * 100].each do |name|
            bounded.write(name, name)
            assert_equal name, bounded.read(name)
            assert_operator bounded.stored_key(name).bytesize, :<=, 64
            assert_predicate bounded.stored_key(name), :valid_encoding?
          end
          assert_equal "n" * 64, bounded.stored_key("n" * 64)
        end

        def test_max_key_size_false_leaves_keys_alone
          skip "#{store.backend} bounds its keys" if store.backend.remote?
          unbounded = new_store(max_key_size: false)
          unbounded.write("n" * 5_000, "value")
          assert_equal "value", unbounded.read("n" * 5_000)
          assert unbounded.stored_key("n" * 5_000).end_with?("n" * 5_000)
        end
      end
    end
  end
end
