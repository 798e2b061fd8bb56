# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
require_relative "../forks"

module Tiercel
  class Leases
    # Leases that are to be given back when their backend answers again: a take or a release whose answer was lost may
    # stand there for its whole ttl, and nobody computes. A thread tries it until the backend has answered, one lease
    # after the other, and ends when there is nothing left to do.
    #
    # Neither the {Guard} nor its breaker is asked: what is tried here is nothing that a caller waits for.
    #
    # @private
    class Returns
      # Seconds between two tries.
      PAUSE = 0.1
      # Seconds after the end of a lease until which it is tried.
      LATE = 5.0
      # A take may reach the backend later than what is asked of it next: so often it is looked for.
      LOOKS = 3
      # Leases that wait at most; what comes beyond that lapses.
      MAX = 1_000
      Item = Struct.new(:ends_at, :looks, :attempt)
      private_constant :PAUSE, :LATE, :LOOKS, :MAX, :Item

      def initialize
        @mutex = Mutex.new
        @process = Forks.current
        @items = []
      end

      # @param lease [Lease]
      # @yieldreturn [Boolean] whether it was there, and is given back
      # @return [void]
      def later(lease, &attempt)
        @mutex.synchronize do
          forget_parents
          next if @items.size >= MAX
          @items << Item.new(lease.lapses_at + LATE, lease.sure? ? 1 : LOOKS, attempt)
          @thread = worker unless @thread&.alive?
        end
      end

      # Gives up, before the backend is closed.
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

      # Fiber storage is not inherited: what is held around the caller is no business of this thread.
      def worker
        Fiber.new(storage: {}) do
          Thread.new { run }.tap { |thread| thread.name = "tiercel leases" }
        end.resume
      end

      def run
        loop do
          @mutex.synchronize { @items.dup }.each { |item| break unless try(item) }
          @mutex.synchronize do
            @items.reject! { |item| item.looks <= 0 || item.ends_at < Clock.monotonic }
            return if @items.empty?
          end
          sleep PAUSE
        end
      end

      # @return [Boolean] whether the backend answered; what it refuses it will not take later
      def try(item)
        item.looks = item.attempt.call ? 0 : item.looks - 1
        true
      rescue Refused
        item.looks = 0
        true
      rescue BackendError
        @mutex.synchronize { @items.rotate! }
        false
      end
    end
  end
end
