# frozen_string_literal: true

module Tiercel
  module Lab
    module Operations
      # Evicts everything from the processor's caches, as the rest of a request does, by reading twice as many bytes as
      # the largest cache holds. Those have more pages than the translation buffers have entries.
      module ProcessorCaches
        SIZES = "/sys/devices/system/cpu/cpu0/cache/index*/size"
        # In a virtual machine the kernel may report the cache of a whole socket, or nothing.
        BYTES = (32 * 1024 * 1024)..(128 * 1024 * 1024)
        LARGER = 2

        class << self
          # Reads {bytes} bytes.
          #
          # @return [void]
          def evict
            # Written once: pages that nobody wrote share one page of zeros.
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

      # The common part of the cold operations. Each slice begins with cold processor caches, and asks for
      # random names, none twice, so no call warms the entry of another one. The names alone are warm, because an
      # application makes a name just before it asks for it.
      module CpuCold
        # Calls after each eviction: about as many as one page makes.
        CALLS = 100

        # @return [Integer] calls of a slice, at most
        def most_calls(value) = [CALLS, value.count].min

        def inputs(_arm) = []

        def written(arm) = arm.names

        # Single calls warm up Ruby and YJIT, and need no eviction. The garbage of a slice is collected before the next
        # one: a collection with cold caches takes as long as thousands of calls, and a process has one or two.
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

      # A slice asks for each name once, where there are names enough.
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
end
