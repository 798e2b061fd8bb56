# frozen_string_literal: true

module Tiercel
  module Lab
    module Terminal
      # Numbers as people read them: three digits that mean something.
      module Figures
        module_function

        # @param number [Numeric]
        # @return [String] "0.604", "12.3", "1540"
        def plain(number)
          return "0" if number.zero?
          decimals = (2 - Math.log10(number.abs).floor).clamp(0, 4)
          format("%.#{decimals}f", number)
        end

        # @param nanoseconds [Numeric]
        # @return [String] microseconds
        def us(nanoseconds) = plain(nanoseconds / 1_000.0)

        # @param interval [Statistics::Interval] of nanoseconds
        # @return [String] "[0.58-0.63]" in microseconds
        def us_bounds(interval) = "[#{us(interval.low)}-#{us(interval.high)}]"

        # @param interval [Statistics::Interval] of ratios
        # @return [String] "0.18 [0.17-0.19]"
        def ratio(interval) = "#{plain(interval.estimate)} [#{plain(interval.low)}-#{plain(interval.high)}]"

        # @param share [Float] 0.012
        # @return [String] "1.2 %"
        def percent(share) = format("%.1f %%", share * 100)

        # @param seconds [Numeric]
        # @return [String] "45 s", "2 min 05 s"
        def duration(seconds)
          seconds = seconds.round
          seconds < 60 ? "#{seconds} s" : format("%d min %02d s", *seconds.divmod(60))
        end

        # @param count [Numeric, nil] counted exactly, an average of several calls
        # @return [String] "12", "12.5"
        def count(count) = count.nil? ? "" : count.to_s.delete_suffix(".0")

        # @param bytes [Integer, nil]
        # @return [String] with thousands set apart
        def bytes(bytes) = bytes.nil? ? "" : bytes.to_s.reverse.scan(/\d{1,3}/).join(",").reverse
      end
    end
  end
end
