# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../file_lock"

module Tiercel
  module Backends
    class SQLite < Backend
      # Queues writers that found the file busy: they wait in the kernel for a lock beside the file. Only the first of
      # them polls SQLite, so that it finds the moment between two writes. If all polled, some would be starved for a
      # quarter of a second.
      #
      # The first writer may be stopped while it holds the lock and the file is free. After a fraction of the budget
      # the others therefore poll too, and bypass the queue for a while.
      class Queue
        SHARE = 0.75
        # Number of writes between two checks of the queue.
        TURN = 32
        # Seconds to bypass the queue after a wait timed out.
        PASSED_BY_SECONDS = 1.0

        # @param lock [FileLock]
        # @param budget_seconds [Float]
        def initialize(lock, budget_seconds)
          @lock = lock
          @budget_seconds = budget_seconds
          @passed_by_until = 0.0
          @writes = 0
        end

        # @return [Boolean] whether to queue behind other writers without trying SQLite first; a process that writes
        #   all the time would otherwise leave them only the moments between two of its writes
        def due? = (@writes += 1) % TURN == 0 && Clock.monotonic >= @passed_by_until && taken?

        # Runs the block once it is first in the queue.
        #
        # @yieldparam give_up_at [Float] a time of the monotonic clock
        # @return [Object] the block's value
        def pass
          now = Clock.monotonic
          give_up_at = now + @budget_seconds
          return yield(give_up_at) if now < @passed_by_until
          first = false
          begin
            @lock.hold(@budget_seconds * SHARE) do
              first = true
              yield(give_up_at)
            end
          rescue FileLock::Busy, SystemCallError # also if no lock can be acquired beside the file
            raise if first
            @passed_by_until = Clock.monotonic + PASSED_BY_SECONDS
            yield(give_up_at)
          end
        end

        private

        def taken?
          @lock.taken?
        rescue SystemCallError
          false
        end
      end
    end
  end
end
