# frozen_string_literal: true

require_relative "../sizes"

module Tiercel
  class Web
    # Formats numbers and texts for the page.
    #
    # @private
    module Format
      UNITS = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].freeze
      MOST_CHARACTERS = 240
      private_constant :UNITS, :MOST_CHARACTERS

      module_function

      # @param number [Numeric]
      # @return [String] "1,234,567"
      def number(number) = number.round.to_s.gsub(/(\d)(?=(\d{3})+\z)/, '\1,')

      # @param number [Numeric]
      # @return [String] "1.2M", "340", "0.25"
      def compact(number)
        size, unit = UNITS.find { |least, _| number.abs >= least }
        return short(number / size) + unit if size
        number.is_a?(Integer) || number >= 100 ? number.round.to_s : short(number)
      end

      # @param share [Float] 0 to 1
      # @return [String] "97.2 %"
      def percent(share)
        text = format("%.1f", share * 100)
        text = "99.9" if text == "100.0" && share < 1
        "#{text.delete_suffix(".0")} %"
      end

      # @param bytes [Integer]
      # @return [String] "12 MB"
      def bytes(bytes) = Sizes.human(bytes.round)

      # @param seconds [Numeric]
      # @return [String] "3 us", "340 ms", "2.5 s", "3.4 min", "1.5 h", "3 d"
      def seconds(seconds)
        return "0 s" if seconds.zero?
        return "-#{seconds(-seconds)}" if seconds.negative?
        unit, size = [["us", 1e-6], ["ms", 1e-3], ["s", 1], ["min", 60], ["h", 3_600], ["d", 86_400]]
                     .reverse.find { |_, least| seconds >= least * (least > 1 ? 2 : 1) } || ["us", 1e-6]
        "#{short(seconds / size.to_f)} #{unit}"
      end

      # @param text [String] any bytes
      # @return [String] the text without characters that reorder or hide others
      def text(text, most: MOST_CHARACTERS)
        cut = text.byteslice(0, (most * 4) + 4).to_s.dup.force_encoding(Encoding::UTF_8).scrub("\u{FFFD}")
        shown = cut[0, most].gsub(/[[:cntrl:]\p{Cf}]/) { |char| format("\\u{%x}", char.ord) }
        cut.length > most || text.bytesize > cut.bytesize ? "#{shown}…" : shown
      end

      def short(number)
        digits = number.abs >= 100 ? 0 : (number.abs >= 10 ? 1 : 2)
        rounded = format("%.#{digits}f", number)
        digits.zero? ? rounded : rounded.sub(/\.?0+\z/, "")
      end
      private_class_method :short
    end
  end
end
