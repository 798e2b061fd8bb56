# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Workers
        # The measured stores, the number of workers, and the load.
        #
        # @!attribute [r] stores
        #   @return [Array<String>] some of {STORES}
        # @!attribute [r] counts
        #   @return [Array<Integer>] numbers of workers
        # @!attribute [r] total_bytes
        #   @return [Integer] total size of the stores of all workers
        # @!attribute [r] value_bytes
        #   @return [Integer]
        # @!attribute [r] footprint
        #   @return [Float] all values by the total bytes
        # @!attribute [r] zipf
        #   @return [Float] exponent
        # @!attribute [r] warm_up
        #   @return [Integer] requests of all workers together before anything counts
        # @!attribute [r] requests
        #   @return [Integer] number of requests of all workers together
        # @!attribute [r] segments
        #   @return [Integer] figures that a worker gives
        # @!attribute [r] rounds
        #   @return [Integer] number of rounds, each with fresh processes
        # @!attribute [r] miss_ms
        #   @return [Float] assumed duration of the block of a fetch; computed, no call waits
        Design = Data.define(:stores, :counts, :total_bytes, :value_bytes, :footprint, :zipf, :warm_up, :requests,
                             :segments, :rounds, :miss_ms)

        class Design
          # A measured store. With `own`, every worker has a store with its share of the bytes; otherwise all workers
          # share one.
          #
          # @!attribute [r] text
          #   @return [String] the contestant; the table fills in %<tmpfs>s and %<disk>s (folders of the run) and
          #     %<bytes>d, and for tiers %<near>d, the near tier's share of the bytes
          # @!attribute [r] own
          #   @return [Boolean]
          # @!attribute [r] server
          #   @return [Symbol, nil] server with the total bytes, or with the rest behind a nearer tier
          Store = Data.define(:text, :own, :server) do
            # @param total_bytes [Integer]
            # @return [Integer] bytes of the near tier, which the last tier does not get
            def near_bytes(total_bytes) = text.include?("%<near>d") ? (total_bytes * NEAR_SHARE).round : 0
          end

          # The near tier's share of the bytes of a stack.
          NEAR_SHARE = 0.25

          # Nothing is compressed, so that equal bytes hold equally many values.
          STORES = {
            "memory_store" => Store.new("memory_store#compress=false", true, nil),
            "tiercel:memory:" => Store.new("tiercel:memory:#compress=false", true, nil),
            "tiercel:shared:" => Store.new("tiercel:shared:%<tmpfs>s?size=%<bytes>d#compress=false", false, nil),
            "tiercel:sqlite:" => Store.new("tiercel:sqlite:%<disk>s?size=%<bytes>d&timeout=2#compress=false", false,
                                           nil),
            "mem_cache_store" => Store.new("mem_cache_store#compress=false", false, :memcached),
            "redis_cache_store" => Store.new("redis_cache_store#compress=false", false, :redis),
            "tiercel:memcached:" => Store.new("tiercel:memcached:#compress=false", false, :memcached),
            "tiercel:redis:" => Store.new("tiercel:redis:#compress=false", false, :redis),
            "tiercel:shared: sqlite:" => Store.new("tiercel:shared:%<tmpfs>s?size=%<near>d&ttl=60 " \
                                                   "sqlite:%<disk>s?size=%<bytes>d&timeout=2#compress=false",
                                                   false, nil),
            "tiercel:shared: redis:" => Store.new("tiercel:shared:%<tmpfs>s?size=%<near>d redis:#compress=false",
                                                  false, :redis),
            "tiercel:shared: memcached:" => Store.new("tiercel:shared:%<tmpfs>s?size=%<near>d " \
                                                      "memcached:#compress=false", false, :memcached)
          }.freeze
          # The control of a shared store: the same engine, one in each worker.
          CONTROL = { "tiercel:shared:" => "tiercel:memory:" }.freeze
          TIERS = STORES.keys.grep(/ /).freeze

          MEGABYTE = 1024 * 1024

          # The load is a Zipf distribution over four times the values that fit. The warm-up requests more values than
          # fit.
          FULL = new(stores: STORES.keys - TIERS, counts: [1, 2, 4, 8], total_bytes: 32 * MEGABYTE, value_bytes: 4_000,
                     footprint: 4.0, zipf: 1.0, warm_up: 40_000, requests: 24_000, segments: 4, rounds: 3, miss_ms: 1.0)
          QUICK = FULL.with(stores: FULL.stores - %w[tiercel:memcached: tiercel:redis:], counts: [1, 4],
                            total_bytes: 8 * MEGABYTE, warm_up: 10_000, requests: 6_000, segments: 3, rounds: 2)

          # Estimates for the plan: starting a worker, a configuration, and a request.
          WORKER_SECONDS = 0.25
          CONFIGURATION_SECONDS = 0.5
          REQUEST_SECONDS = 30e-6

          # @return [Array<String>] the named stores, each with its control
          def self.controlled(stores) = stores.flat_map { |store| [store, *CONTROL[store]] }.uniq

          # @return [Integer] different names
          def items = (total_bytes * footprint / value_bytes).round

          # @return [Array<Array(String, Integer)>] stores and numbers of workers
          def configurations = stores.product(counts)

          # @param count [Integer] number of workers
          # @return [Float] an estimate
          def seconds(count) = CONFIGURATION_SECONDS + (count * WORKER_SECONDS) +
            ((warm_up + requests) * REQUEST_SECONDS)

          # @return [Float] an estimate
          def expected_seconds = rounds * configurations.sum { |_store, count| seconds(count) }
        end
      end
    end
  end
end
