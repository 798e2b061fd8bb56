# frozen_string_literal: true

module Tiercel::Lab
  module Load
    # Several processes that run the same calls at the same time.
    class Fleet
      FAULTS = { Engine::Outcome::WRONG => WrongValue, Engine::Outcome::MISSES => Missed }.freeze
      # Seconds for the calls in progress when a fleet stops early, because of an error or of Ctrl-C. Some calls would
      # take minutes.
      LAST_SECONDS = 1.0

      # @return [Array<Engine::Job>] started
      attr_reader :jobs

      # @param jobs [Array<Engine::Job>]
      def initialize(jobs)
        @jobs = jobs
      end

      # @return [Float] monotonic seconds of a start for which all processes will be ready
      def self.soon(lead) = Load.now + lead

      # Raises the error of an answer without figures.
      #
      # @param answer [Hash] see {Engine::Outcome.of}
      # @return [Hash] the answer
      # @raise [CannotRun, WrongValue, Missed]
      def self.checked(answer)
        return answer if Engine::Outcome.measured?(answer)
        raise FAULTS.fetch(answer["status"], CannotRun), answer["reason"]
      end

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

    # A process of a {Fleet}, which builds stores and removes what it wrote. Every answer of a subclass is an
    # {Engine::Outcome}.
    #
    # @abstract Subclasses implement `open` and the calls of a table.
    class Client
      # A store of the process, and the names that it wrote.
      Subject = Struct.new(:contestant, :store, :context, :names)
      # The id of a process' only store.
      STORE = "store"

      def initialize
        @subjects = {}
      end

      # On the user's servers and in the user's folders it deletes every name. The lab's servers end with the run.
      #
      # @return [true]
      def close
        @subjects.each_value do |subject|
          subject.contestant.tear_down(subject.store, subject.contestant.foreign? ? subject.names : [])
        ensure
          subject.context.clean_up
        end
        true
      end

      private

      # @param text [String] text of the contestant
      # @param context [Hash] see {Engine::Context#initialize}
      # @raise [CannotRun]
      def build(text, context, id: STORE)
        contestant = Contestants.parse(text)
        context = Engine::Context.new(**context)
        contestant.load_gems
        store = contestant.build(context)
        @subjects[id] = Subject.new(contestant, store, context, [])
        contestant.wait_until_ready(store)
      end

      def subject(id = STORE) = @subjects.fetch(id)

      def store(id = STORE) = subject(id).store
    end

    # A trial that applies loads to stores.
    #
    # @abstract Subclasses implement {#measure}.
    class Trial < Engine::Trial
      # Processes are not pinned, as in an application.
      ANYWHERE = Engine::Pinning.new(cpus: [])

      private

      # @param count [Integer] number of processes
      # @param pinnings [Array<Engine::Pinning>] assigned to the processes in turn
      # @yieldparam fleet [Fleet] stopped after the block
      # @return [Object] the block's value
      def with_fleet(count, path:, bundle: nil, pinnings: [ANYWHERE])
        jobs = []
        count.times { |index| jobs << job(path, bundle:, pinning: pinnings[index % pinnings.size]) }
        yield Fleet.new(jobs)
      ensure
        Fleet.new(jobs).stop
      end

      # @return [String] label for names and folders; unique in this run
      def label(*parts) = format(["%d", *["%02d"] * parts.size].join("-"), Process.pid, *parts)

      def remove_folders(label)
        @scratch.folders.each_value { |folder| FileUtils.rm_rf(File.join(folder, "tiercel-lab-#{label}")) }
      end
    end
  end
end
