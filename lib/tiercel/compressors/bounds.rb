# frozen_string_literal: true

# The size checks of all built-in compressors.
#
# @private
module Tiercel::Compressors::Bounds
  # The limit if the caller sets none.
  DEFAULT_LIMIT = 128 * 1024 * 1024

  # Maximum number of base-128 digits in a 32-bit size.
  MAX_SIZE_DIGITS = 5

  private

  # @return [Array(Integer, Integer)] the size at the beginning of a block (base-128, low digits first), and the
  #   position after it
  # @raise [MalformedFrame] if there is no size
  def leading_size(bytes, kind)
    size = 0
    MAX_SIZE_DIGITS.times do |index|
      byte = bytes.getbyte(index) or break
      size |= (byte & 0x7F) << (7 * index)
      return size, index + 1 if byte < 0x80
    end
    raise Tiercel::MalformedFrame, "#{kind} payload has no size"
  end

  # @raise [MalformedFrame] if the claimed size exceeds the limit
  def check_claim(claimed, limit)
    return unless claimed && claimed > limit
    raise Tiercel::MalformedFrame,
      "a payload claims to inflate to #{Tiercel::Sizes.human(claimed)}, more than inflate_limit " \
      "(#{Tiercel::Sizes.human(limit)})"
  end

  # @return [String] `inflated`
  # @raise [MalformedFrame] if its size differs from the claimed size
  def check_size(inflated, claimed)
    return inflated if claimed.nil? || inflated.bytesize == claimed
    raise Tiercel::MalformedFrame, "a payload inflates to #{inflated.bytesize} bytes, not the #{claimed} it claims"
  end

  def damaged(name, error)
    raise Tiercel::MalformedFrame, "a #{name} payload could not be inflated: #{error.message}"
  end
end
