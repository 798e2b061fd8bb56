# frozen_string_literal: true

require "json"
require "rbconfig"
require "tempfile"
require_relative "../errors"
require_relative "../protocol"

module Tiercel
  module Lab
    module Runner
      # The parent's side of a worker: a fresh Ruby with its own bundle and
      # YJIT, asked and answered in JSON lines over pipes.
      class WorkerProcess
        MAIN = File.expand_path("worker_main.rb", __dir__)
        LIBRARY = File.expand_path("../../..", __dir__)
        LOG_LINES = 3

        # @return [Integer]
        attr_reader :pid

        # @param bundle [Bundle]
        # @param pinning [Pinning]
        # @param requires [Array<String>] files with contestants of the user's
        # @param answer_seconds [Numeric]
        def initialize(bundle:, pinning:, requires: [], answer_seconds: Protocol::ANSWER_SECONDS)
          @bundle = bundle
          @pinning = pinning
          @requires = requires
          @answer_seconds = answer_seconds
        end

        # @return [self]
        def start
          child_input, @to_child = IO.pipe
          @from_child, child_output = IO.pipe
          @log = Tempfile.new("tiercel-lab-worker")
          # Of its own process group: a Ctrl-C at the terminal reaches the parent, which then ends it.
          @pid = Process.spawn(environment, *command, in: File::NULL, out: @log, err: @log, pgroup: true,
                                                              3 => child_input, 4 => child_output)
          [child_input, child_output].each(&:close)
          self
        end

        # @param request [Hash]
        # @return [Hash] the answer
        # @raise [WorkerLost] if there is none
        def ask(**request)
          tell(**request)
          answer
        end

        # Asks without waiting for the {#answer}.
        #
        # @param request [Hash]
        # @return [void]
        # @raise [WorkerLost]
        def tell(**request)
          @to_child.puts(JSON.generate(request))
        rescue Errno::EPIPE
          raise lost("ended")
        end

        # @return [Hash] to the oldest request that was not answered yet
        # @raise [WorkerLost] if there is none
        def answer
          raise lost("did not answer within #{@answer_seconds} s") unless @from_child.wait_readable(@answer_seconds)
          line = @from_child.gets or raise lost("ended")
          answer = JSON.parse(line)
          raise WorkerLost, "a worker failed: #{answer["error"]} (#{answer["at"]})" if answer["error"]
          answer
        end

        # Lets it end; it gets a second for that.
        #
        # @return [void]
        def stop
          return unless @pid
          @to_child.close unless @to_child.closed?
          end_process unless gone_within?(1)
          @from_child.close
          @log.close!
          @pid = nil
        end

        private

        def command
          [*@pinning.worker_prefix, RbConfig.ruby, *("--yjit" if yjit?), "-I", LIBRARY, main, "3", "4", *main_arguments,
           *@requires]
        end

        # @return [String] the Ruby file that the process runs
        def main = MAIN

        # @return [Array<String>] for it, before the files of the user's
        def main_arguments = []

        def environment = @bundle.environment.merge("TIERCEL_LAB_OTHER_CPU" => @pinning.server_cpu.to_s)

        def yjit? = defined?(RubyVM::YJIT)

        def lost(how)
          status = end_process
          signal = how == "ended" && status&.signaled? ? " by signal #{status.termsig}" : ""
          said = File.exist?(@log.path) ? File.readlines(@log.path).last(LOG_LINES).map(&:strip).join(" | ") : ""
          WorkerLost.new("the worker #{how}#{signal}#{": #{said}" unless said.empty?}")
        end

        def end_process
          return @status if gone_within?(0.05)
          Process.kill(:KILL, @pid)
          Process.wait(@pid)
          @status = Process.last_status
        rescue Errno::ESRCH, Errno::ECHILD
          @status
        end

        def gone_within?(seconds)
          return true if @status
          deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
          until Process.wait(@pid, Process::WNOHANG)
            return false if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
            sleep 0.002
          end
          @status = Process.last_status
          true
        rescue Errno::ECHILD
          true
        end
      end
    end
  end
end
