# frozen_string_literal: true

require "lz4_flex"
require_relative "../frame/layout"
require_relative "../codec"
require_relative "bounds"
require_relative "lz4_block"

module Tiercel
  module Compressors
    # LZ4 blocks behind their size as a base-128 number, low digits first:
    # the format of the gem lz4-ruby, which lz4_flex reads and writes as well.
    class LZ4
      include Bounds

      WALKER = Codec.native || LZ4Block
      private_constant :WALKER

      # @return [Integer] in the frame's header
      def id = Frame::Layout::COMPRESSOR_LZ4

      # @param bytes [String]
      # @return [String]
      def deflate(bytes) = ::Lz4Flex::VarInt.compress(bytes)

      # The library writes nothing beyond the size that the block claims, but
      # leaves what it did not write as it found the memory, if the block ends
      # early or refers to what is not there. So the block is walked first.
      #
      # @param bytes [String]
      # @param inflated_bytes [Integer, nil] what the frame claims
      # @param limit [Integer] bytes
      # @return [String] binary
      # @raise [MalformedFrame] if they are damaged, or inflate to more than `limit` or other than `inflated_bytes`
      def inflate(bytes, inflated_bytes: nil, limit: DEFAULT_LIMIT)
        claimed, position = leading_size(bytes, "an lz4")
        check_claim(claimed, limit)
        unless claimed == (inflated_bytes || claimed) && WALKER.lz4_block_size(bytes, position) == claimed
          raise MalformedFrame, "an lz4 payload is not the #{inflated_bytes || claimed} bytes it claims to be"
        end
        ::Lz4Flex::VarInt.decompress(bytes)
      rescue ::Lz4Flex::Error, NoMemoryError => error
        damaged("lz4", error)
      end
    end
  end
end
