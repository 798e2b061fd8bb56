# frozen_string_literal: true

require_relative "format"

module Tiercel
  module Lab
    module Report
      # One cell of a {Table}.
      #
      # Renderers use its plain text ({#to_s}), its values for a CSV file ({#data}), and its kind. A muted cell is drawn
      # grey, because its figure decides nothing.
      class Cell
        VERDICTS = { faster: "faster", slower: "slower", same: "same", uneven: "uneven",
                     cannot_tell: "cannot tell" }.freeze
        MARKS = { yes: "yes", no: "no", partly: "partly" }.freeze

        # @return [Symbol] :text, :number, :interval, :verdict, :mark or :missing
        attr_reader :kind
        # @return [Object, nil] the String, number or Symbol behind the text
        attr_reader :value
        # @return [Numeric, nil] lower bound, of an interval or of a verdict's ratio
        attr_reader :low
        # @return [Numeric, nil] upper bound
        attr_reader :high
        # @return [String, nil] unit of the numbers
        attr_reader :unit
        # @return [Integer, nil] decimals; nil for three significant digits
        attr_reader :digits
        # @return [String, nil] a footnote, or for a missing cell a command that helps
        attr_reader :note

        class << self
          # @param value [Cell, String, Symbol, Numeric, nil, #estimate] {Statistics::Interval}s become
          #   intervals, the words of {Statistics::Verdict} verdicts, true and false marks
          # @return [Cell]
          def from(value)
            case value
            when Cell then value
            when true then mark(:yes)
            when false then mark(:no)
            when nil then text("")
            when Numeric then number(value)
            when Symbol then VERDICTS.key?(value) ? verdict(value) : text(value.to_s)
            else value.respond_to?(:estimate) ? interval(value) : text(value.to_s)
            end
          end

          # @param text [String]
          # @param muted [Boolean]
          # @param note [String, nil] a footnote
          # @return [Cell]
          def text(text, muted: false, note: nil) = new(:text, text, muted:, note:)

          # @param value [Numeric]
          # @return [Cell]
          def number(value, unit: nil, digits: nil, muted: false, note: nil)
            new(:number, value, unit:, digits:, muted:, note:)
          end

          # @param count [Numeric, nil] an exact count; an average of several calls may have decimals
          # @return [Cell] without decimals for whole numbers
          def count(count)
            return text("") if count.nil?
            whole = count.to_i == count
            number(whole ? count.to_i : count, digits: whole ? 0 : 2)
          end

          # @param interval [#estimate, #low, #high] such as a {Statistics::Interval}
          # @param muted [Boolean] drawn grey: the interval is too wide to decide
          # @return [Cell]
          def interval(interval, unit: nil, digits: nil, muted: false, note: nil)
            new(:interval, interval.estimate, low: interval.low, high: interval.high, unit:, digits:, muted:, note:)
          end

          # @param word [Symbol] one of {VERDICTS}
          # @param interval [#low, nil] the ratio's interval
          # @return [Cell]
          def verdict(word, interval = nil, note: nil)
            check("verdict", word, VERDICTS)
            new(:verdict, word, estimate: interval&.estimate, low: interval&.low, high: interval&.high,
                                muted: word == :cannot_tell, note:)
          end

          # @param mark [Symbol] :yes, :no or :partly
          # @param note [String, nil] a footnote that explains :partly
          # @return [Cell]
          def mark(mark, note: nil)
            check("mark", mark, MARKS)
            new(:mark, mark, note:)
          end

          # @param reason [String] the reason why there is no figure
          # @param remedy [String, nil] a command that helps
          # @return [Cell]
          def missing(reason, remedy: nil) = new(:missing, reason, note: remedy, muted: true)

          # @private
          def check(noun, word, known)
            return if known.key?(word)
            raise ArgumentError, "#{noun} #{word.inspect}: expected one of #{known.keys.join(", ")}"
          end
        end

        # @private
        def initialize(kind, value, low: nil, high: nil, estimate: nil, unit: nil, digits: nil, muted: false, note: nil)
          @kind = kind
          @value = value
          @estimate = estimate
          @low = low
          @high = high
          @unit = unit
          @digits = digits
          @muted = muted
          @note = note
        end

        # @return [Boolean] whether the figure is uncertain or missing
        def muted? = @muted

        # @return [Boolean] whether it is aligned to the right
        def numeric? = kind == :number || kind == :interval

        # @return [Numeric, nil] the middle of an interval, or of a verdict's ratio
        def estimate = kind == :verdict ? @estimate : (value if numeric?)

        # @return [String] the figure without its bounds
        def main_text
          case kind
          when :number, :interval then Format.with_unit(value, unit, digits:)
          when :verdict then VERDICTS.fetch(value)
          when :mark then MARKS.fetch(value)
          when :missing then value
          else value.to_s
          end
        end

        # @return [String, nil] "[0.58\u20130.63]", with as many decimals as the estimate
        def bounds_text
          return unless low && high
          decimals = digits || Format.decimals(estimate)
          "[#{Format.number(low, digits: decimals)}\u2013#{Format.number(high, digits: decimals)}]"
        end

        # @return [String] main text and bounds
        def to_s
          return "#{main_text} #{Format.number(estimate)}x #{bounds_text}" if kind == :verdict && low
          [main_text, bounds_text].compact.join(" ")
        end

        # @return [Array] value, lower bound and upper bound, for programs
        def data
          case kind
          when :number, :interval then [value, low, high]
          when :verdict then [value.to_s, low, high]
          when :mark then [value.to_s, nil, nil]
          when :missing then ["n/a: #{value}", nil, nil]
          else [value.to_s, nil, nil]
          end
        end
      end
    end
  end
end
