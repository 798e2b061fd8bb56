# frozen_string_literal: true

require "tiercel"

module Tiercel
  module Contracts
    # The tests that every compressor must pass. Include the module in a Minitest class:
    #
    #   class MyCompressorTest < Minitest::Test
    #     include Tiercel::Contracts::CompressorContract
    #
    #     # returns the object that a user passes as `compressor:`
    #     def build_compressor = MyCompressor.new
    #   end
    module CompressorContract
      LIMIT = 1024 * 1024
      # Number of zeros in `bomb`: a hostile payload inflates to this size from a few bytes.
      BOMB_BYTES = 64 * 1024 * 1024

      # @return [Object] the compressor as a store wraps it
      def compressor = @compressor ||= Compressors.build(build_compressor)

      # @return [Array<String>] binary payloads of all sizes, some of them incompressible
      def payloads
        random = Random.new(1)
        sizes = [0, 1, 2, 15, 100, 1_000, 65_536, 700_000]
        sizes.flat_map { |size| ["a".b * size, random.bytes(size), ("<li>row</li>\n" * (size / 13 + 1)).b[0, size]] }
      end

      def test_payloads_come_back
        payloads.each do |payload|
          inflated = inflate(compressor.deflate(payload), inflated_bytes: payload.bytesize)
          assert_equal payload.bytesize, inflated.bytesize
          assert inflated.b == payload
        end
      end

      def test_the_payload_is_left_as_it_was
        payload = ("text " * 1_000).b.freeze
        compressor.deflate(payload)
        assert_equal "text " * 1_000, payload
      end

      def test_text_becomes_smaller
        assert_operator compressor.deflate(("text " * 1_000).b).bytesize, :<, 1_000
      end

      def test_the_id_is_one_of_the_frame
        assert_includes Frame::Layout::COMPRESSORS, compressor.id
        refute_equal Frame::Layout::COMPRESSOR_NONE, compressor.id
      end

      def test_a_claim_above_the_limit_is_refused
        bytes = compressor.deflate("a".b * (LIMIT + 1))
        assert_raises(MalformedFrame) { inflate(bytes, inflated_bytes: LIMIT + 1) }
      end

      def test_a_real_size_above_the_limit_is_refused_whatever_is_claimed
        bomb = compressor.deflate("\0".b * BOMB_BYTES)
        [10, LIMIT].each { |claim| assert_raises(MalformedFrame) { inflate(bomb, inflated_bytes: claim) } }
      end

      def test_the_limit_itself_is_allowed
        payload = "a".b * LIMIT
        assert inflate(compressor.deflate(payload), inflated_bytes: LIMIT) == payload
      end

      def test_values_come_back_through_a_coder
        coder = Coder.new(compressor: build_compressor)
        ["text " * 1_000, { text: "text " * 1_000 }].each do |value|
          frame = coder.dump_value(value, nil, nil, true, 100)
          assert_operator frame.bytesize, :<, 2_000
          assert_equal value, coder.load_value(frame, 0.0)
        end
      end

      private

      def inflate(bytes, inflated_bytes:)
        compressor.inflate(bytes.b, inflated_bytes:, limit: LIMIT)
      end
    end
  end
end
