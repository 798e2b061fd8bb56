# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # An entry of another version is a miss.
      module Versions
        def test_a_version_has_to_match
          store.write("name", "value", version: 1)
          assert_equal "value", store.read("name", version: 1)
          assert_nil store.read("name", version: 2)
          assert_equal [true, false], [store.exist?("name", version: 1), store.exist?("name", version: 2)]
          assert_equal({ "name" => "value" }, store.read_multi("name", version: 1))
          assert_equal({}, store.read_multi("name", version: 2))
        end

        def test_who_names_no_version_takes_any
          store.write("name", "value", version: 1)
          assert_equal "value", store.read("name")
          store.write("plain", "value")
          assert_equal "value", store.read("plain", version: 1)
        end

        def test_fetch_replaces_another_version
          store.fetch("name", version: 1) { "one" }
          assert_equal("one", store.fetch("name", version: 1) { "again" })
          assert_equal("two", store.fetch("name", version: 2) { "two" })
          assert_nil store.read("name", version: 1)
          assert_equal "two", store.read("name", version: 2)
        end

        def test_the_version_of_a_record
          one = Record.new("records/1", 1)
          two = Record.new("records/1", 2)
          store.write(one, "value")
          assert_equal "value", store.read(one)
          assert_nil store.read(two)
          assert_equal [true, false], [store.exist?(one), store.exist?(two)]
          assert_equal({ one => "value" }, store.read_multi(one, two))
          assert_equal "value", store.fetch(one) { "again" }
          assert_equal "anew", store.fetch(two) { "anew" }
          assert_nil store.read(one)
        end

        def test_the_versions_within_an_array
          store.write(["views", Record.new("records/1", 1)], "value")
          assert_equal "value", store.read(["views", Record.new("records/1", 1)])
          assert_equal "value", store.fetch(["views", Record.new("records/1", 1)]) { "again" }
          assert_nil store.read(["views", Record.new("records/1", 2)])
          assert_equal "anew", store.fetch(["views", Record.new("records/1", 2)]) { "anew" }
          assert_equal false, store.exist?(["views", [Record.new("records/1", 3)]])
        end

        def test_an_option_goes_before_the_records_own_version
          record = Record.new("records/1", 1)
          store.write(record, "value", version: 9)
          assert_nil store.read(record)
          assert_equal "value", store.read(record, version: 9)
        end

        def test_fetch_multi_with_versions
          one = Record.new("records/1", 1)
          two = Record.new("records/2", 1)
          newer = Record.new("records/2", 2)
          store.fetch_multi(one, two) { |record| record.cache_key }
          values = store.fetch_multi(one, newer) { |record| "#{record.cache_key} again" }
          assert_equal({ one => "records/1", newer => "records/2 again" }, values)
          assert_equal "records/2 again", store.read(newer)
          assert_nil store.read(two)
        end

        def test_a_version_may_be_in_any_encoding
          %w[UTF-8 ISO-8859-1 UTF-16LE].each do |encoding|
            one, two = %w[é1 é2].map { |text| text.encode(encoding) }
            store.write("name", "value", version: one)
            assert_equal(["value", true], [store.read("name", version: one), store.exist?("name", version: one)])
            [two, "2", "2" * 40_000].each do |other|
              assert_equal([nil, {}], [store.read("name", version: other), store.read_multi("name", version: other)])
              refute store.exist?("name", version: other)
            end
          end
        end

        # The version of an Array of records contains the versions of all of them.
        def test_a_version_may_be_of_any_length
          [20, 1_500, 1_700, 3_400, 3_500, 5_000].each do |count|
            records = Array.new(count) { |i| Record.new("r/#{i}", "20261121123456789012") }
            name = ["count", records]
            assert_equal("one", store.fetch(name) { "one" })
            found = [store.fetch(name) { "again" }, store.read(name), store.read_multi(name)[name]]
            assert_equal %w[one one one], found, "#{count} records"
            assert store.exist?(name)
            records[count / 2] = Record.new("r/#{count / 2}", "20261121123456789013")
            assert_nil store.read(name)
            assert_equal({}, store.read_multi(name))
            assert_equal("two", store.fetch(name, race_condition_ttl: 5) { "two" })
            assert_equal "two", store.read(name)
          end
        end
      end
    end
  end
end
