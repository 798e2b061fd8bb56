# frozen_string_literal: true

module Tiercel
  module Lab
    module Report
      # Formats numbers for people.
      module Format
        MINUS = "\u2212"
        THOUSANDS = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].freeze
        TIMES = [[1.0, "s"], [1e-3, "ms"], [1e-6, "us"]].freeze

        BARS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588".freeze

        module_function

        # @param values [Array<Numeric>]
        # @return [Array<String>] a bar for each value, between the lowest and the highest
        def bars(values)
          low, high = values.minmax
          values.map { |value| BARS[(high > low ? (value - low).fdiv(high - low) * (BARS.size - 1) : 0).round] }
        end

        # @param value [Numeric, nil]
        # @param digits [Integer, nil] decimals; nil for three significant digits
        # @param plain [Boolean] ASCII, without separators
        # @return [String]
        def number(value, digits: nil, plain: false)
          return "" if value.nil?
          return value.to_s unless value.respond_to?(:finite?) && value.finite?
          digits ||= value.is_a?(Integer) ? 0 : decimals(value)
          text = format("%.#{digits}f", value)
          return text if plain
          whole, fraction = text.delete_prefix("-").split(".")
          whole = whole.reverse.scan(/\d{1,3}/).join(",").reverse if whole.length > 3
          "#{MINUS if value.negative? && text.match?(/[1-9]/)}#{[whole, fraction].compact.join(".")}"
        end

        # @param value [Numeric]
        # @param significant [Integer]
        # @return [Integer] decimals that show that many significant digits, at most 6
        def decimals(value, significant = 3)
          magnitude = value.abs
          return 0 if magnitude.zero?
          (significant - 1 - Math.log10(magnitude).floor).clamp(0, 6)
        end

        # @param value [Numeric]
        # @param unit [String, nil]
        # @return [String] "1.20 us"; no space before "%" and "x"
        def with_unit(value, unit, digits: nil)
          text = number(value, digits:)
          return text if unit.nil? || unit.empty? || text.empty?
          ["%", "x"].include?(unit) ? "#{text}#{unit}" : "#{text} #{unit}"
        end

        # @param value [Numeric]
        # @return [String] an axis label: 0.25, 1, 20, 1k, 2M
        def tick(value)
          magnitude = value.abs
          factor, suffix = THOUSANDS.find { |limit, _| magnitude >= limit * 0.9999 } || [1.0, ""]
          text = format("%.6f", value / factor).sub(/\.?0+\z/, "")
          "#{text}#{suffix}"
        end

        # @param count [Integer]
        # @return [String] "1 round", "2 rounds"
        def several(count, noun, plural = "#{noun}s") = "#{count} #{count == 1 ? noun : plural}"

        # @param seconds [Numeric] duration of a run in seconds
        # @return [String] "45 s", "2 min 05 s"
        def minutes(seconds)
          seconds = seconds.round
          seconds < 60 ? "#{seconds} s" : format("%d min %02d s", *seconds.divmod(60))
        end

        # @param share [Float] 0.012
        # @return [String] "1.2 %"
        def percent(share) = format("%.1f %%", share * 100)

        # @param seconds [Numeric] duration of a call in seconds
        # @return [String] "450 ns", "12.0 us", "3.50 ms", "2.00 s"
        def duration(seconds)
          factor, unit = TIMES.find { |limit, _| seconds.abs >= limit } || [1e-9, "ns"]
          with_unit(seconds / factor, unit)
        end

        # @param bytes [Numeric]
        # @return [String] "950 B", "1.50 KB", powers of 1,024
        def bytes(bytes)
          power = bytes.abs < 1024 ? 0 : (Math.log(bytes.abs) / Math.log(1024)).floor.clamp(0, 4)
          return "#{bytes.round} B" if power.zero?
          with_unit(bytes.fdiv(1024**power), %w[B KB MB GB TB][power])
        end
      end
    end
  end
end
