# frozen_string_literal: true

module Tiercel
  class Leases
    # Releases leases once their backend is reachable again. After a lost take or release the lease may stay in the
    # backend for its whole ttl, during which no caller could compute. A thread retries one lease after the other and
    # ends when the queue is empty.
    #
    # The thread bypasses the {Guard} and its breaker, because no caller waits for it.
    #
    # @private
    class ReleaseQueue
      # Seconds between two attempts.
      PAUSE = 0.1
      # Seconds after a lease's end until which the release is retried.
      LATE = 5.0
      # A lost take may reach the backend after the first release, so the release is repeated this many times.
      TRIES = 3
      # Maximum number of queued leases. Further ones are left to lapse.
      MAX = 1_000
      Item = Struct.new(:ends_at, :tries_left, :attempt)
      private_constant :PAUSE, :LATE, :TRIES, :MAX, :Item

      def initialize
        @lock = Mutex.new
        @items = []
        @thread = BackgroundThread.new("tiercel leases", again: -> { !empty? }) { run }
      end

      # @yieldreturn [Boolean] whether the lease existed and was released
      # @return [void]
      def push(lease, &attempt)
        @lock.synchronize do
          @items = [] unless Forks.current?(@process) # a child does not release its parent's leases
          @process = Forks.current
          return if @items.size >= MAX
          @items << Item.new(lease.lapses_at + LATE, lease.sure? ? 1 : TRIES, attempt)
        end
        @thread.start
      end

      # @return [Boolean]
      def empty? = @lock.synchronize { @items.empty? }

      # Stops retrying before the backend is closed.
      #
      # @return [void]
      def close
        @lock.synchronize { @items = [] }
        @thread.stop
      end

      private

      def run
        until empty?
          @lock.synchronize { @items.dup }.each { |item| break unless try(item) }
          @lock.synchronize { @items.reject! { |item| item.tries_left <= 0 || item.ends_at < Clock.monotonic } }
          sleep PAUSE unless empty?
        end
      end

      # @return [Boolean] whether the backend answered; a refused release is not retried
      def try(item)
        item.tries_left = item.attempt.call ? 0 : item.tries_left - 1
        true
      rescue Refused
        item.tries_left = 0
        true
      rescue BackendError
        @lock.synchronize { @items.rotate! }
        false
      end
    end
  end
end
