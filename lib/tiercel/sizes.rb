# frozen_string_literal: true

# Converts sizes: Integers (bytes) or Strings such as "256MB".
module Tiercel::Sizes
  UNITS = {
    "" => 1, "B" => 1,
    "KB" => 1024, "K" => 1024, "KIB" => 1024,
    "MB" => 1024**2, "M" => 1024**2, "MIB" => 1024**2,
    "GB" => 1024**3, "G" => 1024**3, "GIB" => 1024**3,
    "TB" => 1024**4, "T" => 1024**4, "TIB" => 1024**4,
  }.freeze

  FORM = /\A\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*\z/

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
      factor = UNITS[unit.upcase] if unit
      bytes = (Float(number) * factor).floor if factor
    end
    bytes if bytes&.positive?
  end

  # @param bytes [Integer]
  # @return [String] a readable size such as "256.0 MB"
  def self.human(bytes)
    unit = %w[TB GB MB KB].find { |name| bytes >= UNITS[name] }
    unit ? format("%.1f %s", bytes.fdiv(UNITS[unit]), unit) : "#{bytes} B"
  end
end
