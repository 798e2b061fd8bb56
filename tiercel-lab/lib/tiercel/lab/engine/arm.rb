# frozen_string_literal: true

module Tiercel::Lab
  module Engine
    # The resources of a contestant: servers, folders, and a memory limit.
    class Context
      # Bounds of the size of stores that need one. The size is many times the written bytes, because stores divide
      # their room into parts, and a few large entries fill a part. It has an upper bound because a segment reserves its
      # whole room at once.
      ROOMY_BYTES = (64 * 1024 * 1024)..(512 * 1024 * 1024)
      ROOM = 40
      # The size is at least this multiple of the written bytes. A multiple of 3 is not enough. A segment of 512 MB has
      # 64 parts, each with room for only 8 entries of 822 KB. With 200 of these entries, one run in three evicted an
      # entry.
      LEAST_ROOM = 6

      # @param options [Hash] servers, folders and label
      # @return [Context] a context with enough room for the operation's values
      def self.for(operation, value, **options)
        new(capacity_bytes: operation.capacity_bytes,
            written_bytes: value.approximate_bytes * operation.names_for(value), **options)
      end

      # @return [Integer] the size of stores that need one
      attr_reader :capacity_bytes

      # @param servers [Hash{String, Symbol => Hash}] by name: "url", "address" and the like
      # @param folders [Hash{String, Symbol => String}] the run's folders by medium ("tmpfs", "disk")
      # @param label [String] distinguishes this arm's folder from the folders of other arms
      # @param capacity_bytes [Integer, nil] the size of stores; nil: enough for everything
      # @param written_bytes [Integer] an estimate
      # @param shared [Boolean] whether processes with the same label share the folder
      def initialize(servers:, folders:, label:, capacity_bytes: nil, written_bytes: 0, shared: false)
        @shared = shared
        @servers = servers.to_h { |name, facts| [name.to_s, facts.transform_keys(&:to_s)] }
        @folders = folders.transform_keys(&:to_s)
        @label = label
        @made = []
        @capacity_bytes = capacity_bytes || roomy_bytes(written_bytes)
      end

      # @return [Hash{String => Object}]
      # @raise [CannotRun] if the server did not start
      def server(name)
        facts = @servers.fetch(name.to_s)
        raise CannotRun, facts["error"] if facts["error"]
        facts
      end

      # @return [Array<String>] URLs of all servers
      def server_urls = @servers.values.filter_map { |facts| facts["url"] }

      # @param names [Array<String, Symbol>] some servers; all of them by default
      # @return [Array<Integer>] PIDs of the servers that the lab started
      def server_pids(names = @servers.keys) = names.filter_map { |name| @servers.dig(name.to_s, "pid") }

      # @param place [String] a medium, or a folder of the user's
      # @return [String] an empty folder for this arm alone, or the existing one if it is shared
      # @raise [CannotRun]
      def directory(place = "disk")
        path = path(place)
        return path if @shared && File.directory?(path)
        FileUtils.rm_rf(path)
        FileUtils.mkdir_p(path)
        @made |= [path] unless @shared
        path
      rescue SystemCallError => e
        raise CannotRun, "folder #{path}: #{Folder.reason(e)}"
      end

      # Removes the folders. Folders on a tmpfs occupy memory.
      def clean_up
        @made.each { |path| FileUtils.rm_rf(path) }
        @made.clear
      end

      private

      def roomy_bytes(written) = [(ROOM * written).clamp(ROOMY_BYTES), LEAST_ROOM * written].max

      def path(place)
        parent = @folders[place.empty? ? "disk" : place] || (place if place.start_with?("/", ".", "~"))
        raise CannotRun, "there is no #{place} here; file_store:DIR takes any folder" unless parent
        File.join(File.expand_path(parent), "tiercel-lab-#{@label}")
      end
    end

    # One contestant with one operation in a worker process: the built store, its keys, and the compiled loop.
    class Arm
      # @return [Integer] number within the comparison
      attr_reader :id
      # @return [Contestant]
      attr_reader :contestant
      # @return [Operation]
      attr_reader :operation
      # @return [Array<Object>] shared by all arms
      attr_reader :values
      # @return [Array<String>] keys that the timed loop passes; equal to the written keys, but other objects
      attr_reader :names

      # @param id [Integer]
      # @param contestant [Contestant]
      # @param operation [Operation]
      # @param value [Value]
      # @param values [Array<Object>]
      # @param prefix [String] prefix of every name, equally long for every arm
      # @param context [Context]
      def initialize(id:, contestant:, operation:, value:, values:, prefix:, context:)
        @id = id
        @contestant = contestant
        @operation = operation
        @value = value
        @values = values
        @context = context
        @names = Array.new(operation.names_for(value)) { |index| format("%s:%06d", prefix, index) }
      end

      # @return [Object] the store or backend that the contestant built
      def store = @store ||= build

      # @return [Integer] names that a loop goes through
      def count = names.size

      # @return [Object] additional arguments that the operation prepared
      def inputs = @inputs ||= operation.inputs(self)

      # Builds the store, fills it, and compiles the loop.
      #
      # @return [void]
      # @raise [CannotRun]
      def prepare
        unless contestant.kind == operation.kind
          raise CannotRun,
            "#{operation.name} works on a #{operation.kind}, #{contestant.text} is a #{contestant.kind}"
        end
        store
        inputs
        operation.setup(self)
        @loop = compile
      end

      # Writes every value under its key. The written key is a copy, so that the timed calls never pass the same String
      # object.
      #
      # @return [void]
      # @raise [WrongValue] if the store refuses a value
      def fill
        contestant.filling(store, count) do
          each_pair do |name, value|
            next if store.write(name.dup, value) || !contestant.keeps?
            raise WrongValue, "write of #{@value.name} was refused"
          end
        end
      end

      # @param limit [Integer]
      # @yieldparam name [String]
      # @yieldparam value [Object]
      def each_pair(limit = count)
        return to_enum(:each_pair, limit) unless block_given?
        names.first(limit).each_with_index { |name, index| yield name, values[index % values.size] }
      end

      # @param value [Object] the written value
      # @param found [Object, nil] the value that the store returned
      # @return [void]
      # @raise [Missed, WrongValue]
      def expect(value, found)
        raise Missed, "a read of a written name found nothing" if found.nil?
        unless @value.same?(value, found)
          raise WrongValue, "a read returned another value than the written one (a #{found.class})"
        end
      end

      # @return [void]
      # @raise [Missed, WrongValue]
      def verify
        return unless contestant.keeps?
        operation.verify(self)
        missed = @loop.misses
        raise Missed, "#{missed} of the timed calls found nothing" if missed.positive?
      end

      # Runs the timed loop.
      #
      # @param calls [Integer]
      # @return [void]
      def run(calls) = @loop.run(calls)

      # Objects of a call. A difference of one or two objects over all calls comes from another thread, and does not
      # count.
      #
      # @param objects [Integer] of all calls
      # @param calls [Integer]
      # @return [Float]
      def self.per_call(objects, calls)
        whole = objects.fdiv(calls).round
        ((objects - (whole * calls)).abs <= 2 && calls > 4 ? whole.to_f : objects.fdiv(calls).round(2)).clamp(0.0..)
      end

      # Counts the objects that one call allocates, without those of the loop.
      #
      # @param calls [Integer, nil] of a pass
      # @yield before each pass
      # @return [Float]
      def allocations(calls = nil)
        calls ||= 1 if @value.large?
        calls ||= operation.prepared? ? Protocol::ALLOCATION_CALLS : [Protocol::ALLOCATION_CALLS, count].max
        # The first call may allocate objects lazily, so it is not counted.
        objects_of(1)
        # Other code of the process may add objects to a count, but never removes any, so the least of three passes
        # counts.
        nothing, all = [0, calls].map do |number|
          passes = Array.new(3) do
            yield if block_given?
            objects_of(number)
          end
          passes.min
        end
        Arm.per_call(all - nothing, calls)
      end

      # Bytes kept for one value. The lab's large values are alike, so only the first three count. The user's files all
      # count, because one file may be far larger than the others.
      #
      # @return [Hash{String => Integer}] median ("stored_bytes"), mean and largest; empty if unknown
      def stored_bytes
        few = @value.large? && !@value.is_a?(Values::Files)
        sizes = each_pair(few ? 3 : values.size).filter_map do |name, value|
          contestant.stored_bytes(store, name, value)
        end
        return {} if sizes.empty?
        { "stored_bytes" => sizes.sort[sizes.size / 2], "mean_bytes" => sizes.sum / sizes.size,
          "largest_bytes" => sizes.max }
      end

      # CPU time of the contestant's servers, if the operation measures it. While a slice is timed, the servers serve
      # no other client.
      #
      # @return [Float, nil] seconds; nil if the lab started no server for it, or the system does not report CPU times
      def server_seconds
        ServerCPU.seconds(@context.server_pids) if operation.server_time? && contestant.servers.any?
      end

      # Time that the contestant's servers have spent in the run queue. During this time a waiting client waits for
      # other programs, not for the server's work.
      #
      # @return [Integer] nanoseconds; 0 if the lab started no server for it
      def server_delay_ns = ServerCPU.delay_ns(@context.server_pids(contestant.servers))

      # @return [void]
      def tear_down
        contestant.tear_down(@store, operation.written(self)) if @store
      ensure
        @context.clean_up
      end

      private

      def build
        contestant.load_gems
        contestant.build(@context).tap { |store| contestant.wait_until_ready(store) }
      end

      def objects_of(calls)
        operation.before_slice(self, calls) if operation.prepared?
        before = GC.stat(:total_allocated_objects)
        run(calls)
        GC.stat(:total_allocated_objects) - before
      end

      # Compiles a class of its own for each arm. Its call sites then see a single store class, as an application's
      # do.
      def compile
        source = <<~RUBY
          def run(calls, store = @store, names = @names, values = @values, inputs = @inputs, count = @count,
                  i = @position)
            #{operation.preamble}
            while calls > 0
              #{operation.body}
              i += 1
              i = 0 if i == count
              calls -= 1
            end
            @position = #{operation.prepared? ? 0 : "i"}
          end
        RUBY
        Class.new(TimedLoop) { class_eval(source, "(#{name})", 1) }
             .new(store:, names:, values:, inputs:, count:)
      end

      # Holds the variables of a compiled loop.
      class TimedLoop
        # @return [Integer] times that a fetch ran its block although the value was stored
        attr_reader :misses

        def initialize(store:, names:, values:, inputs:, count:)
          @store = store
          @names = names
          @values = values
          @inputs = inputs
          @count = count
          @misses = 0
          @position = 0 # a slice continues where the previous one ended
        end
      end
    end

    # An {Arm} inside its own process: opens it, times its slices, and closes it.
    class TimedArm
      # @param spec [Hash] id, text, operation; calls and warm_up, as an earlier process found them; exact: whether to
      #   count objects and bytes; garbage_bytes: see {#age}; head_start: slices, see {Slots.head_start}
      # @param objects [Array<Object>] values
      # @param place [Hash] servers, folders and label, see {Context#initialize}
      def initialize(spec, value:, objects:, place:, slice_ns:)
        @spec = spec
        @value = value
        @slice_ns = slice_ns
        operation = Operations.fetch(spec[:operation])
        context = Context.for(operation, value, **place, label: "#{place[:label]}-#{spec[:id]}")
        @arm = Arm.new(id: spec[:id], contestant: Contestants.parse(spec[:text]), operation:, value:, values: objects,
                       context:, prefix: format("tiercel-lab:%s:%03d", place[:label], spec[:id]))
      end

      # Builds, fills, warms up, verifies and calibrates the arm.
      #
      # @return [Hash{String => Object}] an {Outcome}
      def open
        @arm.operation.enter
        Outcome.of do
          @arm.prepare
          age
          facts.tap do |found|
            run_head_start(found["calls"])
            found["unsteady"] = true unless steady?(found["calls"])
          end
        end
      end

      # @param calls [Integer]
      # @return [Array<Integer>] the number of calls and the figures after it, see {Cell::Slice}
      def slice(calls)
        lead_in(calls)
        before, delayed_ns = @arm.server_seconds, @arm.server_delay_ns
        ns, gc_ns, cpu_ns, compiled, wait_ns, delay_ns = Stopwatch.time { @arm.run(calls) }
        server_ns = ((@arm.server_seconds - before) * 1e9).round if before
        delay_ns &&= delay_ns + @arm.server_delay_ns - delayed_ns
        [calls, ns, gc_ns, cpu_ns, compiled, server_ns, wait_ns, delay_ns]
      end

      # Verifies the arm again and tears it down.
      #
      # @return [Hash{String => Object}] an {Outcome}
      def close
        Outcome.of { @arm.verify }
      ensure
        Outcome.of { @arm.tear_down }
        @arm.operation.leave
      end

      private

      # Makes the process like one that has run for a while. First touches the memory in which Ruby lets garbage
      # accumulate. No collection makes the pieces old meanwhile, or only a full mark would free them. Keeps the last
      # piece, so that malloc does not return the memory to the system. Then makes the store's objects old, because the
      # collector would otherwise mark them in each of the first collections.
      def age
        pieces = @spec[:garbage_bytes].to_i / Protocol::GARBAGE_PIECE
        GC.disable
        garbage = Array.new(pieces) { "\0" * Protocol::GARBAGE_PIECE }
        @last = garbage.pop
        garbage.clear # the collector takes anything on the stack for a reference
        GC.enable
        Protocol::AGEING_COLLECTIONS.times { GC.start(full_mark: false) }
      end

      def facts
        calibration = Calibration.new(@arm, slice_ns: @slice_ns, value: @value)
        warm_up = calibration.warm_up(@spec[:warm_up])
        calls = @spec[:calls] || calibration.calls
        @arm.verify
        facts = { "warm_up" => warm_up, "calls" => calls }
        facts.merge!("allocations" => @arm.allocations, "exact" => stored_bytes) if @spec[:exact]
        facts
      end

      # @param calls [Integer] number of calls in a slice
      def run_head_start(calls)
        left = (@spec[:head_start].to_f * calls).floor
        while left.positive?
          part = [left, calls].min
          @arm.operation.before_slice(@arm, part) if @arm.operation.prepared?
          @arm.run(part)
          left -= part
        end
      end

      # Runs probes of a quarter of a slice until their cost stops falling.
      def steady?(calls)
        part = [calls / 4, 1].max
        return true if @arm.operation.prepared?
        medium = @arm.contestant.medium
        pages = Stopwatch.method(:pages) if medium == :process
        SteadyState.reach(least_seconds: SteadyState::LEAST_SECONDS[medium], **{ pages: }.compact) do
          Stopwatch.time { @arm.run(part) }.first.fdiv(part)
        end
      end

      # Returns an empty Hash for stores that do not show their entries. The cell then has no figure of stored bytes.
      def stored_bytes
        @arm.stored_bytes
      rescue StandardError
        {}
      end

      def lead_in(calls)
        return @arm.operation.before_slice(@arm, calls) if @arm.operation.prepared?
        @arm.run((calls * Protocol::LEAD_IN).floor)
      end
    end

    # A process forked from the worker for one arm. Its heap holds the objects of one store only, so an arm pays for the
    # collection of its own objects alone. Forks of one worker share its addresses and hash seed, which keeps the arms
    # of a round comparable.
    class ArmProcess
      # @param inherited [Array<IO>] pipes of the worker and of other arms; the new process closes them, so that each
      #   pipe ends when its owner does
      # @param seconds [Numeric] for each answer
      # @yieldreturn [Object] the object in the new process that {#call} calls
      def initialize(inherited, seconds: Protocol::ARM_SECONDS)
        @seconds = seconds
        requests, @requests = IO.pipe(binmode: true)
        @answers, answers = IO.pipe(binmode: true)
        @pid = fork do
          [@requests, @answers, *inherited].each(&:close)
          serve(yield, requests, answers)
        end
        [requests, answers].each(&:close)
      end

      # @return [Array<IO>]
      def pipes = [@requests, @answers]

      # @return [Object] the method's value
      # @raise [WorkerLost] if the process ended, or the method raised
      def call(method, *arguments)
        Marshal.dump([method, arguments], @requests)
        silent unless @answers.wait_readable(@seconds)
        state, answer = Marshal.load(@answers) # rubocop:disable Security/MarshalLoad
        raise WorkerLost, answer if state == :raised
        answer
      rescue EOFError, Errno::EPIPE
        raise WorkerLost, "the worker #{ended}"
      end

      # @return [void]
      def stop
        pipes.each { |pipe| pipe.close unless pipe.closed? }
        ended
      end

      private

      def serve(object, requests, answers)
        until requests.eof?
          method, arguments = Marshal.load(requests) # rubocop:disable Security/MarshalLoad
          Marshal.dump(answer(object, method, arguments), answers)
        end
      rescue Errno::EPIPE
        nil # the worker has ended while this process was busy
      end

      def answer(object, method, arguments)
        [:returned, object.public_send(method, *arguments)]
      rescue StandardError, ScriptError => e
        [:raised, "#{e.class}: #{e.message} (#{e.backtrace&.first})"]
      end

      def silent
        Process.kill(:KILL, @pid)
        raise WorkerLost, "the worker did not answer within #{@seconds} s"
      end

      # Waits until the process ends.
      def ended
        @status ||= Process.wait2(@pid).last
        @status.signaled? ? "ended by signal #{@status.termsig}" : "ended"
      end
    end

    # Builds one operation on one contestant outside of a comparison.
    module SingleArm
      # @param text [String] the words that name the contestant
      # @param operation [String]
      # @param value [Hash] see {Value#to_spec}
      # @param context [Hash] see {Engine::Context}
      # @param prefix [String] prefix of the entries' names
      # @param slice_ns [Integer] work between two looks at the clock
      # @return [Array(Engine::Arm, Engine::Calibration)] warmed up and verified
      # @raise [CannotRun, Missed, WrongValue]
      def self.build(text:, operation:, value:, seed:, context:, prefix:, slice_ns:)
        operation, value = Operations.fetch(operation), Values.from_spec(value)
        why = operation.unsuitable(value) and
          raise CannotRun, "#{operation.name} does not suit #{value.name}: #{why}"
        operation.enter
        arm = Engine::Arm.new(id: 0, contestant: Contestants.parse(text), operation:, value:, prefix:,
                              values: value.generate(seed).each(&:freeze),
                              context: Engine::Context.for(operation, value, **context))
        arm.prepare
        calibration = Engine::Calibration.new(arm, slice_ns:, value:)
        calibration.warm_up(nil)
        arm.verify
        [arm, calibration]
      end
    end
  end
end
