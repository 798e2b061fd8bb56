# frozen_string_literal: true

require "json"
require "rbconfig"
require "tempfile"
require_relative "../errors"
require_relative "bundle"
require_relative "pinning"
require_relative "protocol"

module Tiercel
  module Lab
    module Engine
      # An object in a fresh process, with its own bundle, YJIT and a CPU of its own. The parent calls its methods:
      #
      #   job = Job.new("load/client", pinning:).start
      #   job.call("verify", sample: 200)   # Load::Client#verify(sample: 200) in the process
      #
      # Calls and answers are JSON lines over pipes. The workers that time slices ({Worker}) are jobs, and so are the
      # processes of trials.
      class Job
        MAIN = File.expand_path("job_main.rb", __dir__)
        LIBRARY = File.expand_path("../../..", __dir__)
        LOG_LINES = 3

        attr_reader :pid

        # @param path [String] the file of the object's class, without extension, relative to the lab's folder
        # @param requires [Array<String>] files with contestants of the user's
        # @param answer_seconds [Numeric]
        def initialize(path, bundle: Bundle.new(nil), pinning: Pinning.new, requires: [],
                       answer_seconds: Protocol::JOB_SECONDS)
          @path = path
          @bundle = bundle
          @pinning = pinning
          @requires = requires
          @answer_seconds = answer_seconds
          @unanswered = 0
        end

        # @return [self]
        def start
          child_input, @to_child = IO.pipe
          @from_child, child_output = IO.pipe
          @log = Tempfile.new("tiercel-lab-job")
          # Has its own process group: Ctrl-C at the terminal reaches the parent alone, which then stops the process.
          @pid = Process.spawn(environment, *command, in: File::NULL, out: @log, err: @log, pgroup: true,
                                                      chdir: @bundle.directory || Dir.pwd,
                                                      3 => child_input, 4 => child_output)
          [child_input, child_output].each(&:close)
          self
        end

        # @return [Object] the method's value after a round trip through JSON
        # @raise [WorkerLost] if the process does not answer
        def call(method, **arguments)
          send_call(method, **arguments)
          value
        end

        # Calls a method without waiting for its {#value}.
        #
        # @raise [WorkerLost]
        def send_call(method, **arguments)
          @to_child.puts(JSON.generate({ call: method, arguments: }))
          @unanswered += 1
        rescue Errno::EPIPE
          raise lost("ended")
        end

        # @return [Object] the answer to the oldest unanswered call
        # @raise [WorkerLost]
        def value
          answer = receive(@answer_seconds)
          raise WorkerLost, "a worker failed: #{answer["error"]} (#{answer["at"]})" if answer["error"]
          answer["value"]
        end

        # Waits for the answers that nobody has read, because of an error or of Ctrl-C.
        #
        # @param by [Float] monotonic seconds of the last moment to wait for
        # @raise [WorkerLost] if the process does not answer
        def finish_calls(by:)
          receive([by - Process.clock_gettime(Process::CLOCK_MONOTONIC), 0].max) while @unanswered.positive?
        end

        # Stops the process, which gets a second to clean up.
        def stop
          return unless @pid
          @to_child.close unless @to_child.closed?
          end_process unless gone_within?(1)
          @from_child.close
          @log.close!
          @pid = nil
        end

        private

        def receive(seconds)
          raise lost("did not answer within #{seconds} s") unless @from_child.wait_readable(seconds)
          line = @from_child.gets or raise lost("ended")
          @unanswered -= 1
          JSON.parse(line)
        end

        def command
          [*@pinning.worker_prefix, RbConfig.ruby, *("--yjit" if defined?(RubyVM::YJIT)), "-I", LIBRARY, MAIN, "3", "4",
           @path, *@requires]
        end

        def environment = @bundle.environment.merge("TIERCEL_LAB_OTHER_CPU" => @pinning.server_cpu.to_s)

        def lost(how)
          status = end_process
          signal = how == "ended" && status&.signaled? ? " by signal #{status.termsig}" : ""
          said = last_words
          WorkerLost.new("the worker #{how}#{signal}#{": #{said}" unless said.empty?}")
        end

        # The end of the process's output, without Ruby's backtrace, which follows the message.
        def last_words
          return "" unless File.exist?(@log.path)
          lines = File.readlines(@log.path).map(&:scrub).grep_v(/\A\s+(\d+: )?from /)
          lines.last(LOG_LINES).map(&:strip).join(" | ")
        end

        def end_process
          return @status if gone_within?(0.05)
          Process.kill(:KILL, -@pid) # and the processes that it has forked
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
