# frozen_string_literal: true

module Tiercel::Lab
  module Operations
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
