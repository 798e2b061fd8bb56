# frozen_string_literal: true

require_relative "../engine/outcome"
require_relative "../errors"

module Tiercel
  module Lab
    module Load
      # Several processes that run the same calls at the same time.
      class Fleet
        FAULTS = { Engine::Outcome::WRONG => WrongValue, Engine::Outcome::MISSES => Missed }.freeze
        # Seconds between a call and the common start, for all processes to receive the call.
        LEAD_SECONDS = 0.1
        # Seconds for the calls in progress when a fleet stops early, because of an error or of Ctrl-C. Some calls would
        # take minutes.
        LAST_SECONDS = 1.0

        # @return [Array<Engine::Job>] started
        attr_reader :jobs

        # @param jobs [Array<Engine::Job>]
        def initialize(jobs)
          @jobs = jobs
        end

        # @param lead [Float]
        # @return [Float] monotonic seconds of a start for which all processes will be ready
        def self.soon(lead = LEAD_SECONDS) = Process.clock_gettime(Process::CLOCK_MONOTONIC) + lead

        # Raises the error of an answer without figures.
        #
        # @param answer [Hash] see {Engine::Outcome.of}
        # @return [Hash] the answer
        # @raise [CannotRun, WrongValue, Missed]
        def self.checked(answer)
          return answer if Engine::Outcome.measured?(answer)
          raise FAULTS.fetch(answer["status"], CannotRun), answer["reason"]
        end

        def size = jobs.size

        # @return [Array<Integer>]
        def pids = jobs.map(&:pid)

        # @return [Fleet] a fleet of the first processes
        def first(count) = Fleet.new(jobs.first(count))

        # @return [Fleet] a fleet without the first processes
        def drop(count) = Fleet.new(jobs.drop(count))

        # Calls all processes at once and waits for every answer.
        #
        # @param arguments [Hash] common arguments of all calls
        # @yieldparam index [Integer] number of the process
        # @yieldreturn [Hash] additional arguments of its call
        # @return [Array<Hash>] answers
        # @raise [CannotRun, WrongValue, Missed, WorkerLost]
        def call(method, **arguments)
          jobs.each_with_index do |job, index|
            job.send_call(method, **arguments, **(block_given? ? yield(index) : {}))
          end
          jobs.map(&:value).each { |answer| Fleet.checked(answer) }
        end

        # Opens stores. The first process does so alone: it creates the folder, file or tables for the others.
        #
        # @yieldparam index [Integer]
        # @return [Array<Hash>]
        def open(**arguments)
          first(1).call("open", **arguments, **yield(0)) +
            drop(1).call("open", **arguments) { |index| yield index + 1 }
        end

        # Stops all processes. Each first removes its entries from the user's servers and folders, unless it is in a
        # long call.
        def stop
          by = Fleet.soon(LAST_SECONDS)
          jobs.each { |job| leave(job, by) }
        end

        private

        def leave(job, by)
          job.finish_calls(by:)
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
