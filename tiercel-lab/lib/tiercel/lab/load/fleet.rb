# frozen_string_literal: true

module Tiercel::Lab
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

    # A process of a {Fleet}: opens stores, makes requests, and verifies values. Every answer is an {Engine::Outcome}.
    # Tables with operations of their own subclass it.
    class Client
      # The id of a process' only store.
      STORE = "store"
      # Calls before the measurement; YJIT compiles a method at its 30th call.
      WARM_UP = 64

      def initialize
        @subjects = {}
      end

      # @param text [String] text of the contestant
      # @param context [Hash] see {Engine::Context#initialize}
      # @param entries [Hash] see {Entries#initialize}
      # @param keys [Hash] see {Keys#initialize}
      # @param id [String] id of the store within this process
      # @param filled [Boolean] whether to write and verify all entries
      def open(text:, context:, entries:, keys: {}, id: STORE, filled: false)
        Engine::Outcome.of do
          entries = Entries.new(**entries)
          keys = Keys.new(items: entries.size, **keys)
          subject = @subjects[id] = Subject.new(text:, context:, entries:, keys:)
          next unless filled
          subject.fill
          subject.verify
          { bytes: Marshal.dump(entries.value(0)).bytesize }
        end
      end

      # @param operations [Array<String>] operations, called in turn
      def warm_up(operations:, id: STORE)
        Engine::Outcome.of do
          calls = operations.map { |name| Calls.of(name, subject(id)) }
          WARM_UP.times { |turn| calls.each { |call| call.call(turn % subject(id).entries.size) } }
        end
      end

      # Makes requests.
      #
      # @param operation [String] name of an operation in {Calls}
      # @param arrivals [Hash] see {Arrivals}
      # @return [Hash] see {Driver#run}
      def drive(operation:, arrivals:, id: STORE, **options)
        Engine::Outcome.of do
          GC.start
          arrivals = Arrivals.new(**arrivals)
          call = Calls.of(operation, subject(id))
          Driver.new.run(arrivals, subject(id).keys, **options, &call).tap { |found| expect_hits(operation, found) }
        end
      end

      # Verifies values after the timed part, and releases unused memory.
      #
      def verify(id: STORE)
        Engine::Outcome.of { subject(id).verify }.tap { GC.start }
      end

      # @return [Float] median of the round trips in seconds; see {Network::RoundTrip}
      def round_trip(host:, port:, request:, samples:) = Network::RoundTrip.measure(host, port, request:, samples:)

      # @return [true]
      def close
        @subjects.each_value(&:close)
        true
      end

      private

      # Builds a store without entries.
      #
      # @return [Hash] see {Engine::Outcome.of}
      def build(text, context) = Engine::Outcome.of { @subjects[STORE] = Subject.new(text:, context:) }

      def subject(id = STORE) = @subjects.fetch(id)

      def store = subject.store

      # @return [Float] monotonic seconds
      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      def wait_until(moment)
        while (left = moment - now).positive?
          sleep(left)
        end
      end

      def expect_hits(operation, slice)
        missed = slice[:requests] - slice[:hits]
        return unless missed.positive?
        words = "#{missed} of #{slice[:requests]}"
        raise WrongValue, "#{words} writes were refused" if operation == "write"
        raise Missed, "#{words} requests found nothing"
      end
    end

    # A trial that applies loads to stores.
    #
    # @abstract Subclasses implement {#measure}.
    class Trial < Engine::Trial
      # These errors fail a row, not the run.
      REASONS = [CannotRun, WorkerLost, WrongValue, Missed, Servers::Error, IO::TimeoutError].freeze
      # Processes are not pinned, as in an application.
      ANYWHERE = Engine::Pinning.new(cpus: [])

      private

      # @param count [Integer] number of processes
      # @param pinnings [Array<Engine::Pinning>] assigned to the processes in turn
      # @yieldparam fleet [Fleet] stopped after the block
      # @return [Object] the block's value
      def with_fleet(count, path: "load/client", bundle: nil, pinnings: [ANYWHERE])
        jobs = []
        count.times { |index| jobs << job(path, bundle:, pinning: pinnings[index % pinnings.size]) }
        yield Fleet.new(jobs)
      ensure
        Fleet.new(jobs).stop
      end

      # @yieldreturn [Hash] figures
      # @return [Hash{String => Object}] see {Engine::Outcome.of}
      def attempt
        yield.transform_keys(&:to_s).merge("status" => Engine::Outcome::MEASURED, "reason" => nil)
      rescue *REASONS => e
        Engine::Outcome.of { raise e }.merge("reason" => e.message.lines.first.to_s.strip)
      end

      # @return [String] label for names and folders; unique in this run
      def label(*parts) = format(["%d", *["%02d"] * parts.size].join("-"), Process.pid, *parts)

      def remove_folders(label)
        @scratch.folders.each_value { |folder| FileUtils.rm_rf(File.join(folder, "tiercel-lab-#{label}")) }
      end
    end

    # A cache server for one load, with a memory limit. A full server evicts the least recently used entries.
    module CacheServer
      MEGABYTE = 1024 * 1024

      # @param kind [Symbol, nil] :memcached or :redis; nil: no server
      # @param bytes [Integer]
      # @param options [Hash] see {Servers::Server#initialize}
      # @return [Servers::Server, nil] started
      def self.start(kind, bytes:, **options)
        case kind
        when :memcached then Servers::Memcached.new(memory_mb: [bytes / MEGABYTE, 1].max, **options).start
        when :redis then Servers::Redis.new(maxmemory: bytes.to_s, policy: "allkeys-lru", **options).start
        end
      end

      # @param server [Servers::Server, nil]
      # @return [Hash{String => String}] URL and address for a contestant
      def self.facts(server)
        { "url" => server.url, "address" => (server.address if server.respond_to?(:address)) }.compact
      end
    end

    # The servers of a run, each with a delay proxy in front of it.
    class Site
      # The same limits for memcached and Redis: enough memory, largest item 8 MB.
      MEMORY_MB = 256
      LARGEST_ITEM = "8m"
      # A request with a single line as its answer.
      QUESTIONS = { memcached: "version\r\n", redis: "PING\r\n" }.freeze
      # @param names [Array<Symbol>] :memcached, :redis
      # @param pinning [Engine::Pinning]
      def initialize(names, pinning:)
        @names = names
        @pinning = pinning
        @servers = {}
        @proxies = {}
        @failures = {}
      end

      # @return [self]
      def start
        @names.each { |name| start_one(name) }
        self
      end

      # @return [void]
      def stop
        @proxies.each_value(&:stop)
        @servers.each_value(&:stop)
      end

      # @param far [Boolean] whether to go through the proxy
      # @return [Hash{Symbol => Hash}] see {Engine::Context}
      def facts(far:)
        @names.to_h do |name|
          place = far ? @proxies[name] : @servers[name]
          next [name, { "error" => @failures.fetch(name) }] unless place
          [name, { "url" => place.url, "address" => (place.address if place.respond_to?(:address)) }.compact]
        end
      end

      # @param slot [#proxied?, #delay_ms] the distance that the proxies shall simulate
      # @return [void]
      def move_to(slot)
        return if !slot.proxied? || slot.delay_ms == @distance
        @proxies.each_value { |proxy| proxy.change(delay: slot.delay_ms / 1e3) }
        @distance = slot.delay_ms
      end

      # @param contestant [Contestant]
      # @return [Float, nil] CPU seconds of its servers so far
      def cpu_seconds(contestant)
        pids = contestant.servers.filter_map { |name| @servers[name]&.pid }
        Engine::ServerCPU.seconds(pids) if pids.any?
      end

      # The server and request that measure the round trip.
      #
      # @param slot [#proxied?, #contestant]
      # @return [Hash, nil] host, port, request; nil without a server
      def question(slot)
        name = slot.contestant.servers.first or return
        place = slot.proxied? ? @proxies[name] : @servers[name]
        place && { host: Servers::Server::HOST, port: place.port, request: QUESTIONS.fetch(name) }
      end

      # @return [Hash{String => String}] versions by name
      def versions = @servers.to_h { |name, server| [name.to_s, server.version] }

      private

      def start_one(name)
        server = build(name).start
        @servers[name] = server
        @proxies[name] = Network::Proxy.new(server, cpu: @pinning.server_cpu).start
      rescue Servers::Error => e
        @failures[name] = e.message.lines.first.strip
      rescue IO::TimeoutError
        @failures[name] = "the delay proxy did not start within #{Network::Proxy::ANSWER_SECONDS} s: the machine " \
                          "is too busy"
      end

      def build(name)
        case name
        when :memcached
          Servers::Memcached.new(memory_mb: MEMORY_MB, max_item: LARGEST_ITEM, cpu: @pinning.server_cpu)
        when :redis then Servers::Redis.new(cpu: @pinning.server_cpu)
        else raise UsageError, "latency through #{name} is not measured; memcached and redis are"
        end
      end
    end
  end
end
