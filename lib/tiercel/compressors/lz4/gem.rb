# frozen_string_literal: true

require "lz4_flex"
require_relative "../lz4_block"

module Tiercel
  module Compressors
    class LZ4
      # The extension's methods, implemented with the gem lz4_flex.
      #
      # @private
      module Gem
        class << self
          def lz4_deflate(bytes) = ::Lz4Flex::VarInt.compress(bytes)

          # The library never writes beyond the claimed size. If the block is truncated or refers to missing bytes,
          # the library leaves uninitialized memory in its result. This method therefore walks through the block
          # first.
          def lz4_inflate(bytes, position, claimed)
            return unless LZ4Block.lz4_block_size(bytes, position) == claimed
            ::Lz4Flex::VarInt.decompress(bytes)
          rescue ::Lz4Flex::Error
            nil
          end
        end
      end
    end
  end
end
