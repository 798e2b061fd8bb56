# frozen_string_literal: true

# Formats numbers and texts for terminals, pages and reports.
#
# @private
module Tiercel::Insight::Text
  UNITS = [[1 << 40, "TB"], [1 << 30, "GB"], [1 << 20, "MB"], [1 << 10, "KB"]].freeze
  # Control characters, and characters that change the text's direction or break a line.
  UNPRINTABLE = /[^[:print:]]|[\p{Cf}\p{Zl}\p{Zp}]/
  LONGEST = 600

  module_function

  # @param bytes [Numeric]
  # @return [String] "12.5 MB", "340 B"
  def bytes(bytes)
    size, unit = UNITS.find { |least, _| bytes.abs >= least }
    size ? format("%.1f %s", bytes / size.to_f, unit) : "#{bytes.round} B"
  end

  # @param number [Numeric]
  # @return [String] "1,234,567"
  def number(number) = number.round.to_s.gsub(/(\d)(?=(\d{3})+\z)/, '\1,')

  # @param number [Numeric]
  # @return [String] "1.2M", "340", "0.25"
  def compact(number)
    size, unit = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find { |least, _| number.abs >= least }
    return short(number / size) + unit if size
    number.is_a?(Integer) ? number.to_s : short(number)
  end

  # @param share [Float] 0 to 1
  # @return [String] "97.2 %"
  def percent(share)
    text = format("%.1f", share * 100)
    text = "99.9" if text == "100.0" && share < 1
    "#{text.delete_suffix(".0")} %"
  end

  # @param seconds [Numeric]
  # @return [String] "3 us", "340 ms", "2.5 s", "3.4 min", "1.5 h", "3 d"
  def seconds(seconds)
    return "0 s" if seconds.zero?
    unit, size = [["us", 1e-6], ["ms", 1e-3], ["s", 1], ["min", 60], ["h", 3_600], ["d", 86_400]]
                 .reverse.find { |_, least| seconds >= least * (least > 1 ? 2 : 1) } || ["us", 1e-6]
    "#{short(seconds / size.to_f)} #{unit}"
  end

  # @param value [Object] perhaps a String of any bytes
  # @return [Object] a String without characters that move a terminal's cursor, hide text or reorder it
  def printable(value, most: LONGEST)
    return value unless value.is_a?(String)
    cut = value.byteslice(0, (most * 4) + 4).dup.force_encoding(Encoding::UTF_8).scrub("?")
    shown = cut[0, most].gsub(UNPRINTABLE) { |char| char.dump[1..-2] }
    cut.length > most || value.bytesize > cut.bytesize + 3 ? "#{shown}..." : shown
  end

  # @param text [String] a message that may contain a URL
  # @return [String] its first line, without passwords
  def redacted(text) = printable(text.lines.first.to_s.chomp.gsub(%r{(?<=://)[^\s/@]*@}, "***@"))

  def short(number)
    digits = number.abs >= 100 ? 0 : (number.abs >= 10 ? 1 : 2)
    rounded = format("%.#{digits}f", number)
    digits.zero? ? rounded : rounded.sub(/\.?0+\z/, "")
  end
end
