# frozen_string_literal: true

module Tiercel
  class Account
    # The Ruby form of `CodecExt::CounterPage`, for a process without the C extension.
    #
    # @private
    class Counters
      WORDS = 512
      # See counter_page.c.
      SAMPLE = 256
      ALL_OF = 100
      SOME = 16
      SOME_OF = 1_000
      NOTED_NS = 100_000
      GOLDEN_RATIO = 2_654_435_769
      private_constant :WORDS, :ALL_OF, :SOME, :SOME_OF, :NOTED_NS, :GOLDEN_RATIO

      def initialize
        @words = Array.new(WORDS, 0)
        @own = Array.new(WORDS, 0)
        @lock = Mutex.new
        @rest = [0, -1]
        @second = @misses = @short_ns = 0
      end

      def add(index, amount)
        @lock.synchronize do
          @words[index] += amount
          @own[index] += amount
        end
        nil
      end

      def hit(index)
        add(index, 1)
        chosen?(@own[index], SAMPLE, 0)
      end

      def miss(index, other)
        add(index, 1)
        add(other, 1) if other
        number = @misses += 1
        weight = number <= SOME_OF ? SOME : SAMPLE
        weight = 1 if number <= ALL_OF
        weight if chosen?(number, weight, @second)
      end

      def block(index, duration_ns)
        add(index, 1)
        add(index + 1, duration_ns)
        return duration_ns if duration_ns >= NOTED_NS
        noted = @short_ns += duration_ns
        return if noted < NOTED_NS
        @short_ns = 0
        noted
      end

      def due?
        second = Clock.seconds
        @second, @misses = second, 0 unless second == @second
        !second.between?(*@rest)
      end

      def rest(first, last)
        @rest = [first, last]
      end

      def add_silently(index, amount)
        @lock.synchronize { @words[index] += amount }
        nil
      end

      def load(index) = @words[index]
      def own(index) = @own[index]

      def store(index, number)
        @words[index] = number
      end

      private

      def chosen?(number, weight, offset)
        place = (((number / weight) + offset) * GOLDEN_RATIO) >> 24
        number % weight == (place & (weight - 1))
      end
    end
  end
end
