# frozen_string_literal: true

require_relative "../../clock"

module Tiercel
  module Store
    module Fetch
      # Remembers the keys for which this process has lately tried something, such as a refresh, so that it tries each
      # key only once in a while.
      #
      # @private
      class Attempts
        # Maximum number of remembered keys. The oldest key is forgotten first, so it may be tried again.
        MOST = 1_000

        def initialize
          @lock = Mutex.new
          @until = {}
        end

        # @param key [String]
        # @param seconds [Float] seconds in which no other caller tries
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

        # @param key [String] the key that may be tried again
        # @return [void]
        def forget(key) = @lock.synchronize { @until.delete(key) }

        # @return [Integer]
        def size = @lock.synchronize { @until.size }
      end
    end
  end
end
