# frozen_string_literal: true

# The byte form of a counter: a canonical decimal number in the signed 64-bit range, as Redis has it. Text that is
# nearly a number ("007", "-0", "+5", "5\n") is refused alike by every backend.
module Tiercel::Counter
  FORM = /\A(?:0|-?[1-9]\d{0,18})\z/n
  MIN = -(2**63)
  MAX = (2**63) - 1

  # @param bytes [String]
  # @return [Integer, nil] the count, nil if the bytes are not a counter
  def self.parse(bytes)
    return unless bytes.bytesize <= 20 && bytes.b.match?(FORM)
    count = bytes.to_i
    count if count.between?(MIN, MAX)
  end

  # @param bytes [String] the current bytes
  # @param amount [Integer]
  # @param key [String] the key, for the error message
  # @return [Integer] the new count
  # @raise [NotACounter] if the bytes are not a counter, or the sum leaves the range
  def self.add(bytes, amount, key)
    count = parse(bytes) or raise Tiercel::NotACounter,
      "the key #{Tiercel::KeyMask.of(key)} holds #{bytes.bytesize} bytes that are " \
      "not a decimal 64-bit number: write it with `raw: true` or " \
      "`write_counter` first"
    in_range(count + amount, key)
  end

  # @param count [Integer]
  # @param key [String] the key, for the error message
  # @return [Integer] `count`, unchanged
  # @raise [NotACounter] if it is outside the signed 64-bit range
  def self.in_range(count, key)
    return count if count.between?(MIN, MAX)
    raise Tiercel::NotACounter,
      "the key #{Tiercel::KeyMask.of(key)}: #{count} is outside the signed 64-bit range; nothing was changed"
  end
end
