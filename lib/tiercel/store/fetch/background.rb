# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../forks"
require_relative "../../reports"
require_relative "surroundings"

module Tiercel
  module Store
    module Fetch
      # Runs refreshes in a few threads with a short queue, while the callers return stale values. Each job runs with
      # its caller's {Surroundings}. At exit, the process waits {DRAIN_SECONDS} for the jobs.
      #
      # @private
      module Background
        THREADS = 2
        QUEUED = 100
        DRAIN_SECONDS = 5.0

        @lock = Mutex.new

        class << self
          # @return [Boolean] false if the queue is full or the process is exiting: then the caller computes
          def enqueue(&job)
            surroundings = Surroundings.new
            @lock.synchronize do
              start unless Forks.current?(@process)
              return false if @jobs.closed? || @jobs.size >= QUEUED
              @threads << worker if @threads.size < THREADS && @jobs.num_waiting <= @jobs.size
              @jobs << -> { surroundings.within(&job) }
            end
            true
          end

          # @return [Integer] number of jobs that no thread has started
          def queued = @lock.synchronize { Forks.current?(@process) ? @jobs.size : 0 }

          # @return [Boolean] whether nothing is queued and no thread has a job
          def idle?
            @lock.synchronize { !Forks.current?(@process) || (@jobs.empty? && @jobs.num_waiting == @threads.size) }
          end

          # Accepts no further jobs, and waits at most `seconds` for the others.
          #
          # @return [void]
          def drain(seconds = DRAIN_SECONDS)
            return unless Forks.current?(@process)
            @lock.synchronize { @jobs.close }
            deadline = Clock.monotonic + seconds
            @threads.dup.each { |thread| thread.join([deadline - Clock.monotonic, 0].max) }
            nil
          end

          # Registers an exit handler that waits for the threads of this library: {DRAIN_SECONDS} in all.
          #
          # @return [void]
          def drain_at_exit
            return if @drains
            @drains = true
            at_exit do
              deadline = Clock.monotonic + DRAIN_SECONDS
              drain
              TimedBlock.drain([deadline - Clock.monotonic, 0].max)
            end
          end

          private

          # Starts with an empty queue in a child process, which has none of its parent's threads and jobs.
          def start
            drain_at_exit
            @process = Forks.current
            @jobs = Thread::Queue.new
            @threads = []
          end

          def worker
            jobs = @jobs
            Fiber.new(storage: {}) do
              Thread.new do
                while (job = jobs.pop)
                  perform(job)
                end
              ensure
                ended(jobs)
              end.tap { |thread| thread.name = "tiercel refresh" }
            end.resume
          end

          # Starts another thread if a job has ended its thread while other jobs wait.
          def ended(jobs)
            @lock.synchronize do
              next unless @jobs.equal?(jobs)
              @threads.delete(Thread.current)
              @threads << worker unless jobs.closed? || jobs.empty?
            end
          end

          def perform(job)
            job.call
          rescue StandardError, ScriptError => error
            Reports.handled(error)
          end
        end
      end
    end
  end
end
