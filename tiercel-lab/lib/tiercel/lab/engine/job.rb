# frozen_string_literal: true

module Tiercel::Lab
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
      # @param environment [Hash{String => String}] variables that the user may have set otherwise
      def initialize(path, bundle: Bundle.new(nil), pinning: Pinning.new, requires: [], environment: {})
        @path = path
        @environment = environment.reject { |name, _| ENV.key?(name) }
        @bundle = bundle
        @pinning = pinning
        @requires = requires
        @answer_seconds = Protocol::JOB_SECONDS
        @unanswered = 0
      end

      # @return [self]
      def start
        child_input, @to_child = IO.pipe
        @from_child, child_output = IO.pipe(Encoding::UTF_8)
        @log = Tempfile.new("tiercel-lab-job")
        # Has its own process group: Ctrl-C at the terminal reaches the parent alone, which then stops the process.
        @pid = Process.spawn(@bundle.environment.merge(@environment), *command,
                             in: File::NULL, out: @log, err: @log, pgroup: true,
                             chdir: @bundle.directory || Dir.pwd, 3 => child_input, 4 => child_output)
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
      # @param by [Float] the latest moment to wait until, in monotonic seconds
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

    # The worker process of a {Round}. The worker loads gems, makes the values once for all arms, and forks an
    # {ArmProcess} for each arm of a comparison.
    class Worker
      # @return [Array<IO>] pipes to the parent
      attr_writer :pipes

      def initialize
        @objects = {}
        @digests = {}
        @arms = {}
        @pipes = []
      end

      # Describes the Ruby of this process.
      def hello
        { "pid" => Process.pid, "ruby" => RUBY_DESCRIPTION,
          "yjit" => defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : false,
          "gems" => Gem.loaded_specs.transform_values { |spec| spec.version.to_s }.sort.to_h }
      end

      # Opens the arms of a comparison, see {TimedArm#open}.
      #
      # @param value [Hash] see {Value#to_spec}
      # @param label [String] distinguishes the keys and folders of this round
      # @param arms [Array<Hash>] see {TimedArm#initialize}
      # @return [Hash{String => Object}] an outcome for each arm, and the SHA-256 of the values
      def open(value:, seed:, slice_ns:, label:, servers:, folders:, arms:)
        value = Values.from_spec(value)
        shared = { value:, objects: objects_of(value, seed), place: { servers:, folders:, label: }, slice_ns: }
        arms.each { |spec| load_gems(spec) }
        age_objects
        answers = arms.map { |spec| open_arm(spec, shared).merge("id" => spec[:id]) }
        { "arms" => answers, "digest" => @digests.fetch(value.name) }
      end

      # @param arms [Array<Array(Integer, Integer)>] id and calls
      # @return [Array<Array>] one slice of each arm, see {Cell::Slice}; an outcome in place of its figures if it failed
      def pass(arms:) = arms.map { |id, calls| [id, *slice(id, calls)] }

      # Verifies the arms again and ends their processes.
      def close
        @arms.map { |id, arm| Outcome.of { arm.call(:close) }.merge("id" => id) }
      ensure
        @arms.each_value(&:stop)
        @arms = {}
      end

      private

      # An arm that raises, ends or hangs does not affect the other arms.
      def slice(id, calls)
        @arms.fetch(id).call(:slice, calls)
      rescue WorkerLost => e
        [Outcome.failure(Outcome::CANNOT_RUN, e.message)]
      end

      # Makes the values once for all comparisons of this worker.
      def objects_of(value, seed)
        @objects[[value.name, seed]] ||= value.generate(seed).each(&:freeze).tap do |all|
          @digests[value.name] = value.digest(all)
        end
      end

      # Rails' stores. Loading their files in each arm would take a third of the arm's time.
      STORES = %i[FileStore MemoryStore MemCacheStore RedisCacheStore].freeze
      private_constant :STORES

      # Loads what the arms would each load themselves. Ignores failures here, because each arm reports its own.
      def load_gems(spec)
        features = $LOADED_FEATURES.size
        STORES.each { |name| load_store(name) } if defined?(ActiveSupport::Cache)
        contestant = Contestants.parse(spec[:text])
        contestant.load_gems
        ::Tiercel.eager_load! if contestant.gems.include?("tiercel") && ::Tiercel.respond_to?(:eager_load!)
      rescue StandardError
        nil
      ensure
        @aged = nil if $LOADED_FEATURES.size != features
      end

      def load_store(name)
        ActiveSupport::Cache.const_get(name)
      rescue LoadError # its gem is not in this bundle
        nil
      end

      # Makes existing objects old before the fork, so that no arm marks them again.
      def age_objects
        @aged ||= Process.respond_to?(:warmup) ? Process.warmup : GC.start
      end

      def open_arm(spec, shared)
        process = ArmProcess.new(@pipes + @arms.each_value.flat_map(&:pipes)) { TimedArm.new(spec, **shared) }
        outcome = Outcome.of { process.call(:open) }
        Outcome.measured?(outcome) ? @arms[spec[:id]] = process : process.stop
        outcome
      end
    end

    # The worker processes of one round: one for each bundle among the arms.
    class WorkerPool
      # @param bundles [Array<String, Bundle, nil>]
      # @param pinning [Pinning]
      # @param requires [Array<String>]
      # @param progress [#say]
      def initialize(bundles:, pinning:, requires:, progress:)
        @failures = {}
        @lost = []
        @pinning = pinning
        @requires = requires
        @progress = progress
        @workers = bundles.to_h { |name| [name, start(name)] }.compact
      end

      # Yields each worker that runs some of the arms.
      #
      # @param arms [Array<ArmSpec>] in the order wanted
      # @yieldparam worker [Job] calls a {Worker}
      # @yieldparam arms [Array<ArmSpec>] its share, in that order
      # @return [Array<Object>] the block's values
      def each(arms)
        arms.group_by { |arm| arm.contestant.bundle }.filter_map do |bundle, share|
          worker = @workers[bundle] and yield(worker, share)
        end
      end

      # Stops a worker that no longer answers. The worker takes no further part in the comparison.
      #
      # @param worker [Job]
      # @param error [WorkerLost]
      # @return [void]
      def lose(worker, error)
        bundle = @workers.key(worker)
        @workers.delete(bundle)
        @failures[bundle] = error.message
        worker.stop
        @lost << bundle
      end

      # Starts fresh workers in place of lost ones, for the next comparison.
      #
      # @return [void]
      def restart_lost
        @lost.each do |bundle|
          @failures.delete(bundle)
          worker = start(bundle) and @workers[bundle] = worker
        end
        @lost.clear
      end

      # @param arm [ArmSpec]
      # @return [String, nil] the reason why the arm has no worker
      def failure(arm) = @failures[arm.contestant.bundle]

      # @return [void]
      def stop = @workers.each_value(&:stop)

      private

      def start(name)
        bundle = name.is_a?(Bundle) ? name : Bundle.new(name)
        bundle.install(progress: @progress)
        Job.new("engine/worker", bundle:, pinning: @pinning, requires: @requires,
                                 environment: Protocol::COLLECTOR).start
      rescue CannotRun => e
        @failures[name] = e.message
        nil
      end
    end
  end
end
