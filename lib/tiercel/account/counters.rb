# frozen_string_literal: true

module Tiercel
  class Account
    # Counters of one process, where there is no page that processes share: the same methods.
    #
    # @private
    class Counters
      WORDS = 512

      def initialize
        @words = Array.new(WORDS, 0)
        @lock = Mutex.new
      end

      def add(index, amount)
        @lock.synchronize { @words[index] += amount }
        nil
      end

      alias add_silently add

      def load(index) = @words[index]
      alias own load

      def store(index, number)
        @words[index] = number
      end

      def forget_own = @words.fill(0, 8)
    end
  end
end
