# frozen_string_literal: true

require "lz4_flex"
require_relative "../frame/layout"
require_relative "bounds"

module Tiercel
  module Compressors
    # LZ4 blocks behind their size as a base-128 number, low digits first:
    # the format of the gem lz4-ruby, which lz4_flex reads and writes as well.
    class LZ4
      include Bounds

      # @return [Integer] in the frame's header
      def id = Frame::Layout::COMPRESSOR_LZ4

      # @param bytes [String]
      # @return [String]
      def deflate(bytes) = ::Lz4Flex::VarInt.compress(bytes)

      # The library allocates what the block claims, once, and never writes beyond it.
      #
      # @param bytes [String]
      # @param inflated_bytes [Integer, nil] what the frame claims
      # @param limit [Integer] bytes
      # @return [String] binary
      # @raise [MalformedFrame] if they are damaged, or inflate to more than `limit` or other than `inflated_bytes`
      def inflate(bytes, inflated_bytes: nil, limit: DEFAULT_LIMIT)
        claimed = leading_size(bytes, "an lz4")
        check_claim(claimed, inflated_bytes || limit)
        check_claim(claimed, limit)
        check_size(::Lz4Flex::VarInt.decompress(bytes), inflated_bytes || claimed)
      rescue ::Lz4Flex::Error, NoMemoryError => error
        damaged("lz4", error)
      end
    end
  end
end
