# frozen_string_literal: true

require_relative "../errors"
require_relative "../runner/bundle"
require_relative "../runner/job_process"

module Tiercel
  module Lab
    module Sqlite
      # Two processes on two CPUs with one store between them.
      class Pair
        # Before both begin: time to hear of it.
        LEAD_SECONDS = 0.02

        # @return [Contestant]
        attr_reader :contestant
        # @return [String] name
        attr_reader :value
        # @return [Hash{String => String}] "status" and "reason"
        attr_reader :outcome

        # @param contestant [Contestant]
        # @param value [String] name
        # @param pinnings [Array<Runner::Pinning>] one for each process
        # @param requires [Array<String>]
        def initialize(contestant, value, pinnings:, requires: [])
          @contestant = contestant
          @value = value
          @pinnings = pinnings
          @requires = requires
          @jobs = []
          @outcome = { "status" => "measured" }
        end

        # Starts both without waiting for them.
        #
        # @param progress [#say, nil]
        # @return [void]
        def start(progress: nil)
          bundle = Runner::Bundle.new(contestant.bundle)
          bundle.install(progress:)
          @pinnings.each do |pinning|
            @jobs << Runner::JobProcess.new("sqlite/client", bundle:, pinning:, requires: @requires).start
          end
        rescue CannotRun => e
          note("status" => "cannot run", "reason" => e.message)
        end

        # One after the other: the first makes the tables.
        #
        # @param label [String] of the folder that both use
        # @param seed [Integer]
        # @param servers [Hash]
        # @param folders [Hash]
        # @return [void]
        def open(label:, seed:, servers:, folders:)
          guarded do
            @jobs.each_with_index do |job, index|
              note(job.call("open", text: contestant.text, value:, seed:, prefix: "#{label}-#{index}",
                                    context: { servers:, folders:, label:, shared: true }))
            end
            @jobs.each { |job| note(job.call("fill")) } if sound?
          end
        end

        # Both at once.
        #
        # @param operation [String]
        # @param seconds [Float]
        # @return [Array<Hash>, nil] what each did, see {Client#work}
        def work(operation, seconds)
          guarded do
            at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + LEAD_SECONDS
            @jobs.each { |job| job.send_call("work", operation:, at:, seconds:) }
            answers = @jobs.map(&:value)
            answers.each { |answer| note(answer) }
            answers if sound?
          end
        end

        # @return [void]
        def verify
          guarded { @jobs.each { |job| note(job.call("verify")) } }
        end

        # @return [Boolean]
        def sound? = outcome["status"] == "measured"

        # @return [void]
        def stop
          @jobs.each(&:stop)
          @jobs.clear
        end

        private

        def guarded
          yield if sound?
        rescue WorkerLost => e
          note("status" => "cannot run", "reason" => e.message)
          nil
        end

        # The first failure stays.
        def note(answer)
          @outcome = answer.slice("status", "reason") if sound? && answer["status"] != "measured"
        end
      end
    end
  end
end
