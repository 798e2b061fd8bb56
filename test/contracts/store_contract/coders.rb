# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # `coder:` with an object that converts entries to Strings and back.
      module Coders
        # Records the entries that it receives.
        class RecordingCoder
          attr_reader :dumped, :compressed, :loaded

          def initialize
            @dumped = []
            @compressed = []
            @loaded = []
          end

          def dump(entry)
            @dumped << entry
            Marshal.dump(entry)
          end

          def load(bytes) = Marshal.load(bytes).tap { |entry| @loaded << entry }
        end

        # Supports compression as well.
        class CompressingCoder < RecordingCoder
          def dump_compressed(entry, threshold)
            @compressed << [entry, threshold]
            Marshal.dump(entry)
          end
        end

        def test_a_coder_gets_entries
          coder = RecordingCoder.new
          coded = new_store(coder: coder)
          coded.write("name", "value")
          assert_equal "value", coded.read("name")
          assert_equal [["value"], ["value"]], [coder.dumped, coder.loaded].map { |entries| entries.map(&:value) }
          assert(coder.dumped.all?(ActiveSupport::Cache::Entry))
        end

        def test_a_coder_that_compresses_gets_the_threshold
          coder = CompressingCoder.new
          coded = new_store(coder: coder, compress: true)
          coded.write("name", "value", compress_threshold: 7)
          coded.write("plain", "value", compress: false)
          assert_equal [7], coder.compressed.map(&:last)
          assert_equal 1, coder.dumped.size
          assert_equal "value", coded.read("name")
        end

        def test_ends_and_versions_behind_a_coder
          coded = new_store(coder: RecordingCoder.new)
          coded.write("name", "value", expires_in: 60, version: 1)
          assert_equal [nil, "value"], [coded.read("name", version: 2), coded.read("name", version: 1)]
          later(61) { assert_nil coded.read("name") }
        end

        def test_counters_behind_a_coder
          coder = RecordingCoder.new
          coded = new_store(coder: coder)
          assert_equal 1, coded.increment("name")
          assert_equal 1, coded.read_counter("name")
          coded.write("plain", 5)
          assert_equal 6, coded.increment("plain")
          assert_equal [false, false], %w[name plain].map { |name| coded.write(name, 1, unless_exist: true) }
        end

        def test_a_nil_coder_makes_no_difference_to_callers
          plain = new_store(coder: nil)
          plain.write("name", { "a" => "b" }, expires_in: 60, version: 1)
          assert_equal({ "a" => "b" }, plain.read("name", version: 1))
          assert_nil plain.read("name", version: 2)
          assert_equal({ "name" => { "a" => "b" } }, plain.read_multi("name"))
          assert_equal({ "a" => "b" }, plain.fetch("name") { "absent" })
          later(61) { assert_nil plain.read("name") }
          assert_equal 3, plain.increment("count", 3)
        end
      end
    end
  end
end
