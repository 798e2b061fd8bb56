# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../forks"
require_relative "../../reports"
require_relative "surroundings"

module Tiercel
  module Store
    module Fetch
      # A few threads that refresh values while their callers go on with stale ones, and a short queue. Each job runs
      # with the {Surroundings} of its caller. At exit, the process waits for the jobs for {DRAIN_SECONDS}.
      #
      # @private
      module Background
        THREADS = 2
        QUEUED = 100
        DRAIN_SECONDS = 5.0

        @lock = Mutex.new

        class << self
          # @return [Boolean] false where the queue is full, and while the process ends: then the caller computes
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

          # @return [Integer] jobs that no thread has begun
          def queued = @lock.synchronize { Forks.current?(@process) ? @jobs.size : 0 }

          # @return [Boolean] whether nothing is queued and no thread has a job
          def idle?
            @lock.synchronize { !Forks.current?(@process) || (@jobs.empty? && @jobs.num_waiting == @threads.size) }
          end

          # Takes no further jobs, and waits for the others, for at most `seconds`.
          #
          # @return [void]
          def drain(seconds = DRAIN_SECONDS)
            return unless Forks.current?(@process)
            @lock.synchronize { @jobs.close }
            deadline = Clock.monotonic + seconds
            @threads.dup.each { |thread| thread.join([deadline - Clock.monotonic, 0].max) }
            nil
          end

          # Has the process wait at exit for the threads of this library: {DRAIN_SECONDS} in all.
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

          # A child process has none of its parent's threads and jobs.
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

          # A job may have ended its thread while others wait.
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
