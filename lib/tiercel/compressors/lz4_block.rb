# frozen_string_literal: true

module Tiercel
  module Compressors
    # How much an LZ4 block inflates to, by its tokens alone. The pure-Ruby
    # form of ext/tiercel/codec/lz4_block.h, after the LZ4 block format: every
    # sequence is literals and a match, but the last, which is literals alone.
    #
    # @private
    module LZ4Block
      MIN_MATCH = 4

      class << self
        # @param bytes [String]
        # @param position [Integer] where the block begins
        # @return [Integer, nil] bytes; nil if the block is not whole
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

        # A length of 15 in the token goes on in bytes of 255 and one below.
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
