# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../file_lock"

module Tiercel
  module Backends
    class SQLite < Backend
      # Where writers wait that found the file busy: in the kernel, for a lock
      # beside the file. Only the first of them asks SQLite again and again, so
      # that it finds the moment between two writes of others. If all did, some
      # would be passed over for a quarter of a second.
      #
      # The first in the queue may be stopped there, with the file free: after a share of
      # the budget the others ask by themselves, and for a while do not queue.
      class Queue
        SHARE = 0.75
        # Writes between two looks at the queue.
        TURN = 32
        # After waiting in vain.
        PASSED_BY_SECONDS = 1.0

        # @param lock [FileLock]
        # @param budget_seconds [Float]
        def initialize(lock, budget_seconds)
          @lock = lock
          @budget_seconds = budget_seconds
          @passed_by_until = 0.0
          @writes = 0
        end

        # @return [Boolean] whether it is time to queue behind others without asking SQLite first: who writes all the
        #   time would leave them but the moments between two of its writes
        def due? = (@writes += 1) % TURN == 0 && Clock.monotonic >= @passed_by_until && taken?

        # Runs the block when its turn has come.
        #
        # @yieldparam give_up_at [Float] on the monotonic clock
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
          rescue FileLock::Busy, SystemCallError # or where no lock can be had beside the file
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
