# frozen_string_literal: true

require_relative "bundle"
require_relative "pinning"
require_relative "worker_process"

module Tiercel
  module Lab
    module Runner
      # An object in a fresh process, pinned and with YJIT as a worker's arms are, called from here:
      #
      #   job = JobProcess.new("latency/client", pinning:).start
      #   job.call("run", iterations: 1_000)   # Latency::Client#run(iterations: 1_000) there; its answer as JSON has it
      #
      # What is measured by other means than slices of an operation is measured in such.
      class JobProcess < WorkerProcess
        MAIN = File.expand_path("job_main.rb", __dir__)
        # Jobs are longer than slices.
        ANSWER_SECONDS = 300

        # @param job [String] path of the job's file below tiercel/lab, which names its class
        # @param bundle [Bundle]
        # @param options see {WorkerProcess#initialize}
        def initialize(job, bundle: Bundle.new(nil), pinning: Pinning.new, answer_seconds: ANSWER_SECONDS, **options)
          super(bundle:, pinning:, answer_seconds:, **options)
          @job = job
        end

        # @param method [String]
        # @param arguments [Hash] what JSON can carry
        # @return [Object] as JSON has it
        # @raise [WorkerLost] if it failed or ended
        def call(method, **arguments)
          send_call(method, **arguments)
          value
        end

        # Calls without waiting for the {#value}.
        #
        # @param method [String]
        # @param arguments [Hash]
        # @return [void]
        def send_call(method, **arguments) = tell(call: method, arguments:)

        # @return [Object] of the oldest call not answered yet
        def value = answer.fetch("value")

        private

        def main = MAIN

        def main_arguments = [@job]
      end
    end
  end
end
