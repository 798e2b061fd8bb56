# frozen_string_literal: true

# Converts sizes: Integers (bytes) or Strings such as "256MB".
module Tiercel::Sizes
  # The place of a letter is the power of 1,024.
  UNITS = "_KMGT"
  # "256", "256B", "256K", "256KB", "256KiB"
  FORM = /\A\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])I?)?B?\s*\z/i
  private_constant :UNITS, :FORM

  # @param size [Integer, String] bytes, or a number with a unit (powers of 1,024)
  # @param option [Symbol, String] the option's name, for the message
  # @return [Integer] bytes, at least 1
  # @raise [ConfigurationError] if the size is neither
  def self.bytes(size, option: :size)
    parse(size) or raise Tiercel::ConfigurationError, "#{option}: expected bytes (Integer > 0) or a String such as " \
                                                      "\"256MB\", got #{Tiercel::Redacted.text(size)}"
  end

  # @param size [Object]
  # @return [Integer, nil] bytes, at least 1; nil if the argument is not a size
  def self.parse(size)
    case size
    when Integer then bytes = size
    when String
      number, unit = size.match(FORM)&.captures
      bytes = (Float(number) * (1024**(unit ? UNITS.index(unit.upcase) : 0))).floor if number
    end
    bytes if bytes&.positive?
  end

  # @param bytes [Integer]
  # @return [String] a readable size such as "256.0 MB"
  def self.human(bytes)
    power = ((bytes.bit_length - 1) / 10).clamp(0, UNITS.size - 1)
    power.zero? ? "#{bytes} B" : format("%.1f %sB", bytes.fdiv(1024**power), UNITS[power])
  end
end
