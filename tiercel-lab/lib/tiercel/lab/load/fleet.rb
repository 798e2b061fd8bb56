# frozen_string_literal: true

require_relative "../engine/outcome"
require_relative "../errors"

module Tiercel
  module Lab
    module Load
      # Processes that get the same orders.
      class Fleet
        FAULTS = { Engine::Outcome::WRONG => WrongValue, Engine::Outcome::MISSES => Missed }.freeze
        # From an order to the moment at which all begin: time to hear of it.
        LEAD_SECONDS = 0.1

        # @return [Array<Engine::Job>] started
        attr_reader :jobs

        # @param jobs [Array<Engine::Job>]
        def initialize(jobs)
          @jobs = jobs
        end

        # @param lead [Float]
        # @return [Float] monotonic seconds of a moment that all will be ready at
        def self.soon(lead = LEAD_SECONDS) = Process.clock_gettime(Process::CLOCK_MONOTONIC) + lead

        # The message of an answer that has no figures, as the error that it was in the process.
        #
        # @param answer [Hash] see {Engine::Outcome.of}
        # @return [Hash]
        # @raise [CannotRun, WrongValue, Missed]
        def self.checked(answer)
          return answer if Engine::Outcome.measured?(answer)
          raise FAULTS.fetch(answer["status"], CannotRun), answer["reason"]
        end

        def size = jobs.size

        # @return [Array<Integer>]
        def pids = jobs.map(&:pid)

        # @return [Fleet] of the first processes
        def first(count) = Fleet.new(jobs.first(count))

        # @return [Fleet]
        def drop(count) = Fleet.new(jobs.drop(count))

        # Calls all at once and waits for every answer.
        #
        # @param arguments [Hash] of all calls
        # @yieldparam index [Integer] of the process
        # @yieldreturn [Hash] more arguments, of its call
        # @return [Array<Hash>] answers
        # @raise [CannotRun, WrongValue, Missed, WorkerLost]
        def call(method, **arguments)
          jobs.each_with_index do |job, index|
            job.send_call(method, **arguments, **(block_given? ? yield(index) : {}))
          end
          jobs.map(&:value).each { |answer| Fleet.checked(answer) }
        end

        # The first process makes the folder, the file or the tables that the others find.
        #
        # @yieldparam index [Integer]
        # @return [Array<Hash>]
        def open(**arguments)
          first(1).call("open", **arguments, **yield(0)) +
            drop(1).call("open", **arguments) { |index| yield index + 1 }
        end

        # Lets go of what lies in a place of the user's, however it went.
        def stop
          jobs.each { |job| leave(job) }
        end

        private

        def leave(job)
          job.call("close")
        rescue WorkerLost
          nil # its keys expire
        ensure
          job.stop
        end
      end
    end
  end
end
