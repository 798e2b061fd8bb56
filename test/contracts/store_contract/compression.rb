# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # Values above a size are compressed.
      module Compression
        SMALL = "compressible" * 10
        LARGE = "compressible" * 1_000
        # Compresses everything to nothing, and records it.
        module Shrinking
          def self.deflate(_bytes) = "tiny"
          def self.inflate(_bytes) = Marshal.dump("inflated")
        end

        def test_large_values_are_compressed_small_ones_not
          compressing = new_store(compress: true, compress_threshold: 1_024)
          assert_operator stored_bytes(compressing, LARGE), :<, LARGE.bytesize / 2
          assert_operator stored_bytes(compressing, [LARGE]), :<, LARGE.bytesize / 2
          assert_operator stored_bytes(compressing, SMALL), :>, SMALL.bytesize
          [LARGE, [LARGE], SMALL].each do |value|
            compressing.write("name", value)
            assert_equal value, compressing.read("name")
          end
        end

        def test_compression_can_be_switched_off
          assert_operator stored_bytes(new_store(compress: false), LARGE * 20), :>, LARGE.bytesize * 20
          assert_operator stored_bytes(new_store(compressor: nil), LARGE * 20), :>, LARGE.bytesize * 20
        end

        def test_by_default_very_large_values_are_compressed
          skip "this store does not compress" unless store.options[:compress]
          assert_operator stored_bytes(store, LARGE * 20), :<, LARGE.bytesize * 10
          store.delete("name")
          store.fetch("name") { LARGE * 20 }
          assert_operator store.backend.get(key_of("name")).bytesize, :<, LARGE.bytesize * 10
        end

        def test_the_call_goes_before_the_store
          compressing = new_store(compress: true, compress_threshold: 1_024)
          assert_operator stored_bytes(compressing, LARGE, compress: false), :>, LARGE.bytesize
          assert_operator stored_bytes(compressing, LARGE, compress_threshold: 100_000), :>, LARGE.bytesize
          plain = new_store(compress: false)
          assert_operator stored_bytes(plain, LARGE, compress: true, compress_threshold: 1_024), :<, LARGE.bytesize / 2
        end

        def test_a_low_threshold
          eager = new_store(compress: true, compress_threshold: 1)
          assert_operator stored_bytes(eager, SMALL), :<, SMALL.bytesize
          [nil, 1, "", "a", (0..127).to_a.pack("C*")].each do |value|
            eager.write("name", value)
            value.nil? ? assert_nil(eager.read("name")) : assert_equal(value, eager.read("name"))
          end
        end

        def test_what_does_not_shrink_is_kept_as_it_is
          noise = Random.new(1).bytes(4_096)
          compressing = new_store(compress: true, compress_threshold: 1)
          assert_operator stored_bytes(compressing, noise), :<, noise.bytesize + 200
          assert_equal noise, compressing.read("name")
        end

        def test_a_compressor_of_ones_own
          options = { compressor: Shrinking, serializer: Marshal, compress: true, compress_threshold: 1 }
          own = in_format(7.1) { new_store(**options) }
          own.write("name", [LARGE])
          assert_equal "inflated", own.read("name")
        end

        private

        # @return [Integer] size of a value in the backend
        def stored_bytes(writing_store, value, **options)
          writing_store.write("name", value, **options)
          writing_store.backend.get(writing_store.stored_key("name")).bytesize
        end

        # Rails accepts a compressor only with cache format 7.1 or later.
        def in_format(version)
          before = ActiveSupport::Cache.format_version
          ActiveSupport::Cache.format_version = version
          yield
        ensure
          ActiveSupport::Cache.format_version = before
        end
      end
    end
  end
end
