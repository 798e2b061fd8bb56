# frozen_string_literal: true

module Tiercel
  module Compressors
    # Computes the inflated size of an LZ4 block from its tokens. The pure-Ruby form of ext/tiercel/codec/lz4_block.h.
    # In the LZ4 block format every sequence consists of literals and a match, except the last, which has literals
    # only.
    #
    # @private
    module LZ4Block
      MIN_MATCH = 4

      class << self
        # @param bytes [String]
        # @param position [Integer] the position of the block
        # @return [Integer, nil] bytes; nil if the block is incomplete
        def lz4_block_size(bytes, position)
          total = 0
          while (token = bytes.getbyte(position))
            literals, position = length(bytes, position + 1, token >> 4)
            return unless literals && (position += literals) <= bytes.bytesize
            total += literals
            return (total if token.nobits?(0x0F)) if position == bytes.bytesize
            match, position = match(bytes, position, token, total)
            return unless match
            total += match
          end
        end

        private

        def match(bytes, position, token, total)
          low, high = bytes.getbyte(position), bytes.getbyte(position + 1)
          return unless high && (low | (high << 8)).between?(1, total)
          length, position = length(bytes, position + 2, token & 0x0F)
          [length + MIN_MATCH, position] if length
        end

        # A length of 15 in the token continues in further bytes; the first byte below 255 is the last.
        def length(bytes, position, nibble)
          return nibble, position if nibble < 15
          while (byte = bytes.getbyte(position))
            nibble += byte
            position += 1
            return nibble, position if byte < 255
          end
        end
      end
    end
  end
end
