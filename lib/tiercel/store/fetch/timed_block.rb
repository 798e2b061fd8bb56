# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../forks"
require_relative "../../reports"
require_relative "surroundings"

module Tiercel
  module Store
    module Fetch
      # Runs a block in its own thread, so that the caller can stop waiting. Nothing interrupts the block. Each block
      # has a new thread, so it sees no state of an earlier block. A process has at most {MOST} of these threads.
      #
      # @private
      class TimedBlock
        MOST = 32
        # The result of {#wait} on timeout.
        LEFT = Object.new.freeze
        # The key in the fiber storage of these threads.
        WITHIN = :tiercel_timed_block
        private_constant :WITHIN

        @lock = Mutex.new
        @free = ConditionVariable.new
        @threads = []

        class << self
          # Starts the block in another thread, with the caller's {Surroundings}.
          #
          # A caller inside a timed block does not wait for a free thread: if there is none, it runs its block itself.
          #
          # @param ends_at [Float] the end of the wait for a free thread, a time of {Clock.monotonic}
          # @return [TimedBlock, nil] nil if no thread became free
          def start(ends_at, &block)
            timed = new(block)
            within = Fiber[WITHIN]
            return timed if begin_one(timed, within ? 0 : ends_at)
            within ? timed.tap(&:run_here) : nil
          end

          # @return [Integer] number of running blocks
          def running = @lock.synchronize { threads.size }

          # Waits at most `seconds` for all running blocks.
          #
          # @return [void]
          def drain(seconds)
            deadline = Clock.monotonic + seconds
            @lock.synchronize { threads.dup }.each { |thread| thread.join([deadline - Clock.monotonic, 0].max) }
          end

          # @param thread [Thread] a thread whose block has ended
          # @return [void]
          def ended(thread)
            @lock.synchronize do
              threads.delete(thread)
              @free.signal
            end
          end

          private

          def begin_one(timed, ends_at)
            @lock.synchronize do
              while threads.size >= MOST
                left = ends_at - Clock.monotonic
                return false if left <= 0
                @free.wait(@lock, left)
              end
              threads << timed.start
            end
            true
          end

          # A child process has none of its parent's threads.
          def threads
            return @threads if Forks.current?(@process)
            Background.drain_at_exit
            @process = Forks.current
            @threads = []
          end
        end

        # @param block [Proc]
        def initialize(block)
          @block = block
          @surroundings = Surroundings.new(awaited: true)
          @lock = Mutex.new
          @left = false
        end

        # @return [Thread]
        def start
          @thread = Thread.new do
            Fiber[WITHIN] = true
            run { @surroundings.within(&@block) }
          ensure
            TimedBlock.ended(Thread.current)
          end
          @thread.name = "tiercel fetch"
          @thread
        end

        # @return [void]
        def run_here = run(&@block)

        # @param ends_at [Float] a time of {Clock.monotonic}
        # @return [Object] the block's value, or {LEFT}
        # @raise the block's error
        def wait(ends_at)
          ended = @thread&.join([ends_at - Clock.monotonic, 0].max)
          kind, content = leave
          raise content if kind == :error
          return content if kind
          raise ThreadError, "the block of a fetch with timeout: has ended its thread" if ended
          LEFT
        ensure
          leave
        end

        private

        def leave
          @lock.synchronize do
            @left = true
            @outcome
          end
        end

        def run
          finish(:value, yield)
        rescue Exception => error # rubocop:disable Lint/RescueException
          Reports.handled(error) if finish(:error, error)
        end

        # @return [Boolean] whether the caller has left
        def finish(kind, content)
          @lock.synchronize do
            @outcome = [kind, content]
            @left
          end
        end
      end
    end
  end
end
