# frozen_string_literal: true

require "delegate"

module Tiercel::Lab
  module Operations
    # The common part of operations below Rails' code: they call the methods of a Tiercel backend, which stores bytes.
    # Values that are not Strings are marshalled beforehand.
    module BelowStore
      def preamble = "backend = store.backend"

      def inputs(arm)
        arm.values.map { |value| (value.is_a?(String) ? value.b : Marshal.dump(value)).freeze }
      end

      # The inputs of these operations are bytes, so they use the arm's names.
      def written(arm) = arm.names

      private

      def backend(arm)
        return arm.store.backend if arm.store.respond_to?(:backend)
        raise CannotRun, "#{arm.store.class} has no backend of its own to ask"
      end

      def expect_bytes(arm, name, bytes)
        found = backend(arm).get(name)
        raise Missed, "get returned nil" if found.nil?
        raise WrongValue, "get returned other bytes" unless found.b == bytes
      end
    end

    # Gets an existing entry from the backend.
    define "backend_get", "the backend's own get", body: "backend.get(names[i])", internal?: true do
      include BelowStore

      def setup(arm)
        arm.names.each_with_index { |name, index| backend(arm).set(name, arm.inputs[index]) }
      end

      def verify(arm)
        arm.names.each_with_index { |name, index| expect_bytes(arm, name, arm.inputs[index]) }
      end
    end

    # Overwrites an entry in the backend.
    define "backend_set", "the backend's own set", like: "backend_get", body: "backend.set(names[i], inputs[i])" do
      def verify(arm)
        arm.names.each_with_index { |name, index| backend(arm).set(name, arm.inputs[index]) }
        super
      end
    end

    # Sets a new key in a full backend.
    define "backend_set_full", "the backend's own set when it is full", like: "write_full", internal?: true,
                                                                        body: "backend.set(names[i], " \
                                                                              "inputs[i % inputs.size])" do
      include BelowStore

      private

      def put(arm, name, index) = backend(arm).set(name, arm.inputs[index])

      def get(arm, name) = backend(arm).get(name)

      def expect(arm, name, index) = expect_bytes(arm, name, arm.inputs[index])
    end

    # A hit while another process writes other names into the same store, on another CPU if there is one.
    define "read_beside_writer", "a hit while another process writes", like: "read" do
      def setup(arm)
        super
        parent, child = IO.pipe
        pid = fork { write_until_closed(arm, parent, child) }
        parent.close
        @writers = [*@writers, [pid, child]]
        move_away(pid)
      end

      def leave
        (@writers || []).each do |pid, pipe|
          pipe.close
          Process.wait(pid)
        end
        @writers = []
      end

      def written(arm) = arm.names + Array.new(arm.count) { |index| other_name(arm, index) }

      private

      # Writes with a pause between two writes.
      def write_until_closed(arm, parent, child)
        # Closes the pipes of earlier writers too: a pipe ends when its last holder closes it.
        [child, *(@writers || []).map(&:last)].each(&:close)
        index = 0
        until parent.wait_readable(0.0002)
          arm.store.write(other_name(arm, index % arm.count), arm.values[index % arm.values.size])
          index += 1
        end
      ensure
        exit!(0)
      end

      def other_name(arm, index) = "#{arm.names.first}-other-#{index}"

      def move_away(pid)
        cpu = ENV.fetch("TIERCEL_LAB_OTHER_CPU", "")
        return if cpu.empty?
        system("taskset", "--pid", "--cpu-list", cpu, pid.to_s, out: File::NULL, err: File::NULL)
      end
    end

    # Another operation while a subscriber receives Rails' cache notifications, as an APM agent or the log does. The
    # subscriber is a block with name, start, end, id and payload, or a block with an event object. For the latter
    # Rails reads the thread's CPU time and allocations.
    class Subscribed < SimpleDelegator
      PATTERN = /\Acache_.*\.active_support\z/
      SUBSCRIBERS = { "subscribed" => ->(_name, _start, _end, _id, _payload) {}, "event" => ->(_event) {} }.freeze

      # @param subscriber [String] one of {SUBSCRIBERS}
      def initialize(operation, subscriber = "subscribed")
        super(operation)
        @kind = subscriber
      end

      def name = "#{__getobj__.name}_#{@kind}"

      def phrase = "#{__getobj__.phrase} with a subscriber#{" to event objects" if @kind == "event"}"

      def enter
        @subscriber = ActiveSupport::Notifications.subscribe(PATTERN, SUBSCRIBERS.fetch(@kind))
      end

      def leave = ActiveSupport::Notifications.unsubscribe(@subscriber)
    end

    %w[read fetch write].each { |name| add Subscribed.new(fetch(name)) }
    %w[read fetch].each { |name| add Subscribed.new(fetch(name), "event") }

    # Evicts all data from the processor's caches, as the rest of a request does: it reads twice as many bytes as the
    # largest cache holds. These bytes have more pages than the TLB has entries.
    module ProcessorCaches
      SIZES = "/sys/devices/system/cpu/cpu0/cache/index*/size"
      # Bounds, because the kernel of a virtual machine may report the cache of a whole socket, or nothing.
      BYTES = (32 * 1024 * 1024)..(128 * 1024 * 1024)
      LARGER = 2

      class << self
        # Reads {bytes} bytes.
        #
        # @return [void]
        def evict
          # The pages must be written once: unwritten pages share one page of zeros.
          @filler ||= ("x" * bytes).b.freeze
          @filler.include?("y")
        end

        # @return [Integer]
        def bytes = @bytes ||= (LARGER * largest_bytes).clamp(BYTES)

        private

        def largest_bytes
          Dir[SIZES].map { |path| File.read(path).to_i * 1024 }.max.to_i
        rescue SystemCallError
          0
        end
      end
    end

    # The common part of the cold operations. Each slice begins with cold processor caches and uses random names, none
    # twice, so that no call warms another call's entry. Only the names are warm, because an application builds a name
    # just before its call.
    module CpuCold
      # Calls after each eviction: about as many as a page makes.
      CALLS = 100

      # @return [Integer] maximum number of calls in a slice
      def most_calls(value) = [CALLS, value.count].min

      def inputs(_arm) = []

      def written(arm) = arm.names

      # Single calls, which warm up Ruby and YJIT, need no eviction. The garbage of a slice is collected before the
      # next one. A collection with cold caches takes as long as thousands of calls, and a process has only one or two
      # of them.
      def before_slice(arm, calls)
        arm.inputs.replace(upcoming(arm, calls))
        return if calls == 1
        collect
        ProcessorCaches.evict
        arm.inputs.flatten.each(&:hash)
      end

      def leave = GC.enable

      private

      def collect
        GC.enable
        GC.start(full_mark: false)
        GC.disable
      end

      def upcoming(arm, calls) = arm.names.sample(calls, random:)

      def random = @random ||= Random.new(1)
    end

    define "read_cpu_cold", "a hit, the processor's caches cold", like: "read", prepared?: true,
                                                                  body: "store.read(inputs[i])" do
      include CpuCold
    end

    define "fetch_cpu_cold", "a fetch that hits, the processor's caches cold", like: "fetch", prepared?: true,
           body: "store.fetch(inputs[i]) { @misses += 1 }" do
      include CpuCold
    end

    # A slice uses each name once if there are enough names.
    define "read_multi_cpu_cold", "a read_multi of #{MANY}, the processor's caches cold", like: "read_multi",
           prepared?: true, body: "store.read_multi(*inputs[i])" do
      include CpuCold

      const_set(:PAGES, 5)

      def most_calls(value) = [self.class::PAGES, names_for(value) / MANY].min

      private

      def upcoming(arm, calls)
        names = super(arm, calls * MANY)
        Array.new(calls) { |index| names.rotate(index * MANY).first(MANY) }
      end
    end
  end
end
