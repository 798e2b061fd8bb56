# frozen_string_literal: true

module Tiercel
  class Account
    # Counters in the memory of this process, with the methods of `CodecExt::CounterPage`.
    #
    # @private
    class Counters
      WORDS = 512
      # One hit of this many is a sample.
      SAMPLE = 256
      private_constant :WORDS

      def initialize
        @words = Array.new(WORDS, 0)
        @own = Array.new(WORDS, 0)
        @lock = Mutex.new
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
        (@own[index] % SAMPLE).zero?
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

      # Called in a child: sets all figures to zero.
      def forget_own
        @lock = Mutex.new
        @own.fill(0)
        @words.fill(0, Account::FIGURES_AT)
      end
    end
  end
end
