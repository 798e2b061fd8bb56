# frozen_string_literal: true

require "lz4_flex"
require_relative "../lz4_block"

module Tiercel
  module Compressors
    class LZ4
      # The extension's calls, by the gem lz4_flex.
      #
      # @private
      module Gem
        class << self
          def lz4_deflate(bytes) = ::Lz4Flex::VarInt.compress(bytes)

          # The library writes nothing beyond the size that the block claims, but
          # leaves what it did not write as it found the memory, if the block ends
          # early or refers to what is not there. So the block is walked first.
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
