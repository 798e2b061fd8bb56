# frozen_string_literal: true

require_relative "../statistics"

module Tiercel
  module Lab
    module Tables
      # Who of several is the fastest, as far as verdicts carry it: all sentences of the lab that name one ask here. Two
      # are told apart by the quotient of their intervals, the farthest apart; intervals of ratios to one baseline, or
      # of times.
      #
      #   leader = Leader.new({ "memory_store" => interval, "tiercel" => interval }, margin: 0.02)
      #   leader.clear?       # => true
      #   leader.to_s         # => "tiercel is the fastest"
      class Leader
        # Names in a sentence of those that cannot be told apart.
        NAMED = 3

        # @return [Object, nil] of those that cannot be told apart the first given
        attr_reader :first
        # @return [Object, nil] whose estimate is the least
        attr_reader :least

        # @param intervals [Hash{Object => Statistics::Interval}] less is better
        # @param margin [Float] see {Statistics::Verdict}
        # @param equality [Boolean] whether two may be called the same: a quick run never does
        def initialize(intervals, margin:, equality: true)
          @intervals = intervals
          @margin = margin
          @equality = equality
          @least, = intervals.min_by { |_name, interval| interval.estimate }
          @ahead = intervals.keys.select { |name| name == least || verdict(least, name) != :faster }
          @first = @ahead.first
        end

        # @return [Array<Object>] those of whom nobody is told to be faster, in the order given
        attr_reader :ahead

        # @return [Boolean] whether one is faster than all others
        def clear? = ahead.one?

        # @param one [Object]
        # @param other [Object]
        # @return [Symbol] of one's time by the other's, see {Statistics::Verdict}
        def verdict(one, other) = Statistics::Verdict.of(quotient(one, other), margin: @margin, equality: @equality)

        # @param one [Object]
        # @param other [Object]
        # @return [Float] how many times as fast one is
        def factor(one, other) = 1.0 / quotient(one, other).estimate

        # @param what [String] what the first one is
        # @yieldparam name [Object]
        # @yieldreturn [String] how it is called in the sentence
        # @return [String] without a full stop
        def to_s(what = "the fastest", &)
          return "nobody is #{what}" if ahead.empty?
          return "#{words(&)} is #{what}" if clear?
          "which is #{what} cannot be told (#{words(&)})"
        end

        # @yieldparam name [Object]
        # @return [String] the leader, or those that cannot be told apart
        def words
          named = ahead.first(NAMED).map { |name| block_given? ? yield(name) : name.to_s }
          more = ahead.size - named.size
          named << "#{more} more" if more.positive?
          named.size > 1 ? "#{named[..-2].join(", ")} or #{named.last}" : named.first
        end

        private

        def quotient(one, other) = @intervals.fetch(one).over(@intervals.fetch(other))
      end
    end
  end
end
