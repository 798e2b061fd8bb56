# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
require_relative "../forks"

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
        @mutex = Mutex.new
        @process = Forks.current
        @items = []
      end

      # @param lease [Lease]
      # @yieldreturn [Boolean] whether the lease existed and was released
      # @return [void]
      def push(lease, &attempt)
        @mutex.synchronize do
          forget_parents
          next if @items.size >= MAX
          @items << Item.new(lease.lapses_at + LATE, lease.sure? ? 1 : TRIES, attempt)
          @thread = worker unless @thread&.alive?
        end
      end

      # Stops retrying before the backend is closed.
      #
      # @return [void]
      def close
        thread = @mutex.synchronize do
          @items = []
          @thread
        end
        thread&.kill&.join(1)
      end

      private

      def forget_parents
        return if Forks.current?(@process)
        @process = Forks.current
        @items = []
        @thread = nil
      end

      # Starts the thread without the caller's fiber storage.
      def worker
        Fiber.new(storage: {}) do
          Thread.new { run }.tap { |thread| thread.name = "tiercel leases" }
        end.resume
      end

      def run
        loop do
          @mutex.synchronize { @items.dup }.each { |item| break unless try(item) }
          @mutex.synchronize do
            @items.reject! { |item| item.tries_left <= 0 || item.ends_at < Clock.monotonic }
            return if @items.empty?
          end
          sleep PAUSE
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
        @mutex.synchronize { @items.rotate! }
        false
      end
    end
  end
end
