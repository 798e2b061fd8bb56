# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../guard"

module Tiercel
  module Store
    module Fetch
      # Threads of this process that refresh values behind their callers' backs: few, with a short queue. Each job runs
      # within the Rails executor, where there is one. When the process ends they are given a few seconds.
      #
      # @private
      module Background
        THREADS = 2
        QUEUED = 100
        DRAIN_SECONDS = 5.0
        private_constant :THREADS, :QUEUED, :DRAIN_SECONDS

        @lock = Mutex.new

        class << self
          # @return [Boolean] false where too much is waiting already; then the caller does it
          def enqueue(&job)
            @lock.synchronize do
              start unless @pid == Process.pid
              return false if @draining || @jobs.size >= QUEUED
              @threads << worker if @threads.size < THREADS && @jobs.num_waiting.zero?
              @jobs << job
            end
            true
          end

          # Waits until all is done that was asked for, and no longer than `seconds`.
          #
          # @return [void]
          def drain(seconds = DRAIN_SECONDS)
            return unless @pid == Process.pid
            @lock.synchronize { @jobs.close }
            deadline = Clock.monotonic + seconds
            @threads.each { |thread| thread.join([deadline - Clock.monotonic, 0].max) }
          ensure
            @pid = nil if @pid == Process.pid
          end

          private

          def start
            at_exit { drain } unless @drains
            @drains = true
            @pid = Process.pid
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
              end.tap { |thread| thread.name = "tiercel refresh" }
            end.resume
          end

          def perform(job)
            executor = Rails.application.executor if defined?(Rails.application) && Rails.application
            executor ? executor.wrap(&job) : job.call
          rescue StandardError, ScriptError => error
            ActiveSupport.error_reporter&.report(error, handled: true, severity: :warning, source: Guard::SOURCE)
          end
        end
      end
    end
  end
end
