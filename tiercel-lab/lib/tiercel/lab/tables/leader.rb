# frozen_string_literal: true

require_relative "../report"
require_relative "../statistics"

module Tiercel
  module Lab
    module Tables
      # Finds the fastest and the slowest of several results, and compares two results. All sentences and marks of the
      # lab use this class. Two results differ if the widest quotient of their intervals lies outside the margin. The
      # intervals are times, or ratios to one baseline.
      #
      #   leader = Leader.new({ "memory_store" => interval, "tiercel" => interval }, margin: 0.02)
      #   leader.clear?       # => true
      #   leader.to_s         # => "tiercel is the fastest"
      class Leader
        # Maximum number of names in a sentence about results that do not differ.
        NAMED = 3

        # @return [Object, nil] the first of {#ahead}
        attr_reader :first
        # @return [Array<Object>] the candidates for the fastest, in the order given
        attr_reader :ahead
        # @return [Array<Object>] the candidates for the slowest, in the order given
        attr_reader :behind

        # @param intervals [Hash{Object => Statistics::Interval}] less is better
        # @param margin [Float, Hash{Object => Float}] see {Statistics::Verdict}. With a margin for each result, the
        #   larger margin of the two compared results counts, so that a third, noisy result has no effect
        # @param equality [Boolean] whether two results may be called the same; false for a quick run
        def initialize(intervals, margin:, equality: true)
          @intervals = intervals
          @margin = margin
          @equality = equality
          least, most = intervals.minmax_by { |_name, interval| interval.estimate }.map { |name, _interval| name }
          @ahead = intervals.keys.select { |name| name == least || verdict(least, name) != :faster }
          @behind = intervals.keys.select { |name| name == most || verdict(most, name) != :slower }
          @first = @ahead.first
        end

        # @return [Boolean] whether one is faster than all others
        def clear? = ahead.one?

        # @param one [Object]
        # @param other [Object]
        # @return [Symbol] verdict on one time divided by the other, see {Statistics::Verdict}
        def verdict(one, other)
          margin = @margin.is_a?(Hash) ? @margin.values_at(one, other).max : @margin
          Statistics::Verdict.of(quotient(one, other), margin:, equality: @equality)
        end

        # @param one [Object]
        # @param other [Object]
        # @return [Float] how many times as fast one is
        def factor(one, other) = 1.0 / quotient(one, other).estimate

        # @param what [String] the first place: "the fastest"
        # @yieldparam name [Object]
        # @yieldreturn [String] how it is called in the sentence
        # @return [String] a sentence without its full stop
        def to_s(what = "the fastest", &)
          return "nobody is #{what}" if ahead.empty?
          return "#{words(&)} is #{what}" if clear?
          "which is #{what} cannot be told (#{words(&)})"
        end

        # @yieldparam name [Object]
        # @return [String] the leader, or the candidates
        def words(&) = listed(ahead, "or", &)

        # @yieldparam name [Object]
        # @yieldreturn [String] how it is called in the sentence, with its figure
        # @return [String] the fastest and the slowest: "from a (1 us) to b (2 us)"; candidates that cannot be told
        #   apart are listed
        def span(&)
          return words(&) if @intervals.one?
          return "#{listed(ahead, "and", &)}, which cannot be told apart" if ahead.size == @intervals.size
          "from #{words(&)} to #{listed(behind, "or", &)}"
        end

        # @param one [Object]
        # @param other [Object]
        # @param called [String] the other
        # @return [String] one's time by the other's: "2.00x the time of the other"
        def time_words(one, other, called)
          case verdict(one, other)
          when :faster, :slower then "#{Report::Format.number(quotient(one, other).estimate)}x the time of #{called}"
          when :same then "the same time as #{called}"
          else "a time that cannot be told from that of #{called}"
          end
        end

        # @return [String] the comparison as a speed: "2.00x as fast as the other"
        def speed_words(one, other, called)
          case verdict(one, other)
          when :faster, :slower then "#{Report::Format.number(factor(one, other))}x as fast as #{called}"
          when :same then "the same as #{called}"
          else "not to be told from #{called}"
          end
        end

        private

        def listed(names, conjunction)
          named = names.first(NAMED).map { |name| block_given? ? yield(name) : name.to_s }
          more = names.size - named.size
          named << "#{more} more" if more.positive?
          named.size > 1 ? "#{named[..-2].join(", ")} #{conjunction} #{named.last}" : named.first
        end

        def quotient(one, other) = @intervals.fetch(one).over(@intervals.fetch(other))
      end
    end
  end
end
