# frozen_string_literal: true

require_relative "../../clock"

module Tiercel
  module Store
    module Fetch
      # The keys with which this process has lately tried something, such as a refresh: it tries each once in a while.
      #
      # @private
      class Attempts
        # At most so many keys are kept; the oldest one goes, and may be tried again.
        MOST = 1_000

        def initialize
          @lock = Mutex.new
          @until = {}
        end

        # @param key [String]
        # @param seconds [Float] for which no other caller tries
        # @return [Boolean] whether no other caller has tried
        def begin(key, seconds)
          @lock.synchronize do
            now = Clock.monotonic
            return false if @until.fetch(key, 0) > now
            @until.delete(key)
            @until.shift if @until.size >= MOST
            @until[key] = now + seconds
          end
          true
        end

        # @param key [String] that may be tried again
        # @return [void]
        def forget(key) = @lock.synchronize { @until.delete(key) }

        # @return [Integer]
        def size = @lock.synchronize { @until.size }
      end
    end
  end
end
