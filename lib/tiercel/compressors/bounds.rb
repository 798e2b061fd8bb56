# frozen_string_literal: true

require_relative "../errors"
require_relative "../sizes"

module Tiercel
  module Compressors
    # All built-in compressors check claimed sizes like this.
    #
    # @private
    module Bounds
      # Without a limit of the caller's.
      DEFAULT_LIMIT = 128 * 1024 * 1024

      # Base-128 digits of a 32-bit size.
      MAX_SIZE_DIGITS = 5

      private

      # @return [Array(Integer, Integer)] the size that a block begins with (base-128 digits, low ones first), and
      #   the position behind it
      # @raise [MalformedFrame] if there is none
      def leading_size(bytes, kind)
        size = 0
        MAX_SIZE_DIGITS.times do |index|
          byte = bytes.getbyte(index) or break
          size |= (byte & 0x7F) << (7 * index)
          return size, index + 1 if byte < 0x80
        end
        raise MalformedFrame, "#{kind} payload does not say its size"
      end

      # @raise [MalformedFrame] if what is claimed is above the limit
      def check_claim(claimed, limit)
        return unless claimed && claimed > limit
        raise MalformedFrame, "a payload claims to inflate to #{Sizes.human(claimed)}, more than inflate_limit " \
                              "(#{Sizes.human(limit)})"
      end

      # @return [String] inflated
      # @raise [MalformedFrame] if its size is not the one that was claimed
      def check_size(inflated, claimed)
        return inflated if claimed.nil? || inflated.bytesize == claimed
        raise MalformedFrame, "a payload inflates to #{inflated.bytesize} bytes, not the #{claimed} it claims"
      end

      def damaged(name, error)
        raise MalformedFrame, "a #{name} payload could not be inflated: #{error.message}"
      end
    end
  end
end
