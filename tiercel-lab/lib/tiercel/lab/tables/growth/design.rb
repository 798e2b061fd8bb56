# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Growth
        # The measured stores and points. One factor grows at a time; the others keep their defaults.
        #
        # @!attribute [r] stores
        #   @return [Array<String>] some of {STORES}
        # @!attribute [r] entries
        #   @return [Array<Integer>] numbers of entries, each with a value of `entry_bytes`
        # @!attribute [r] entry_bytes
        #   @return [Integer] size of a value in bytes while the number of entries grows
        # @!attribute [r] sizes
        #   @return [Array<Integer>] bytes of a value, `few` entries each
        # @!attribute [r] few
        #   @return [Integer]
        # @!attribute [r] processes
        #   @return [Array<Integer>] numbers of concurrent processes, which read {CROWD_ENTRIES} entries of
        #     {CROWD_BYTES}
        # @!attribute [r] rounds
        #   @return [Integer] number of rounds, each with fresh processes
        # @!attribute [r] slices
        #   @return [Integer] slices of each operation and process
        # @!attribute [r] calls
        #   @return [Integer] calls in a slice; large values have fewer
        Design = Data.define(:stores, :entries, :entry_bytes, :sizes, :few, :processes, :rounds, :slices, :calls)

        # A point at which a store is measured.
        #
        # @!attribute [r] factor
        #   @return [String] the growing factor: "entries", "bytes" or "processes"
        Point = Data.define(:factor, :entries, :bytes, :processes) do
          # @return [Integer] the factor's value
          def at = public_send(factor)

          def record = to_h.transform_keys(&:to_s)
        end

        class Design
          # A measured store, with a generous estimate of the room that an entry needs.
          #
          # @!attribute [r] text
          #   @return [String] the contestant without compression
          # @!attribute [r] own
          #   @return [Boolean] whether every process has its own store
          # @!attribute [r] medium
          #   @return [Symbol] the medium of its entries: :memory, :tmpfs or :disk
          # @!attribute [r] beside
          #   @return [Integer] bytes that an entry needs in addition to its value
          Store = Data.define(:text, :own, :medium, :beside)

          STORES = {
            "memory_store" => Store.new("memory_store#compress=false", true, :memory, 700),
            "tiercel:memory:" => Store.new("tiercel:memory:#compress=false", true, :memory, 300),
            "tiercel:shared:" => Store.new("tiercel:shared:#compress=false", false, :tmpfs, 300),
            "tiercel:memcached:" => Store.new("tiercel:memcached:#compress=false", false, :memory, 300),
            "mem_cache_store" => Store.new("mem_cache_store#compress=false", false, :memory, 300),
            "tiercel:sqlite:" => Store.new("tiercel:sqlite:#compress=false", false, :disk, 300)
          }.freeze

          KILOBYTE = 1024
          MEGABYTE = 1024 * KILOBYTE
          CROWD_ENTRIES = 10_000
          CROWD_BYTES = KILOBYTE

          FULL = new(stores: %w[memory_store tiercel:shared: tiercel:memcached: tiercel:sqlite:],
                     entries: [1_000, 10_000, 100_000, 1_000_000, 10_000_000], entry_bytes: 100,
                     sizes: [100, KILOBYTE, 10 * KILOBYTE, 100 * KILOBYTE, MEGABYTE], few: 1_000,
                     processes: [1, 2, 4, 8], rounds: 2, slices: 8, calls: 2_000)
          QUICK = FULL.with(entries: [1_000, 10_000, 100_000], sizes: [100, 10 * KILOBYTE, MEGABYTE], few: 100,
                            processes: [1, 4], rounds: 1, slices: 4, calls: 1_000)

          # A store gets more room than its entries need, because stores divide their room and nothing may be evicted.
          ROOM = 1.5
          # A segment's index expects entries of this size; smaller entries need as much room.
          LEAST_ENTRY_BYTES = 512
          # Few large entries fill one part of a store before the others.
          SPARE_ENTRIES = 800
          # Bytes of values in a slice of calls.
          SLICE_BYTES = 16 * MEGABYTE
          LEAST_CALLS = 16

          REPEATED_ENTRIES = 1_000_000

          # Estimates for the plan: starting, writing an entry, and a call.
          CONFIGURATION_SECONDS = 0.6
          PROCESS_SECONDS = 0.25
          ENTRY_SECONDS = 12e-6
          BYTE_SECONDS = 2e-9
          CALL_SECONDS = 25e-6

          # @return [Array<Point>]
          def points
            entries.map { |count| Point.new("entries", count, entry_bytes, 1) } +
              sizes.map { |bytes| Point.new("bytes", few, bytes, 1) } +
              processes.map { |count| Point.new("processes", CROWD_ENTRIES, CROWD_BYTES, count) }
          end

          # @param round [Integer]
          # @return [Array<Array(String, Point)>] stores and points; points beyond a million entries appear in one round
          #   only
          def configurations(round)
            stores.product(points).select { |_store, point| round.zero? || point.entries <= REPEATED_ENTRIES }
          end

          # @param point [Point]
          # @return [Integer] number of calls in a slice
          def calls_at(point) = (SLICE_BYTES / point.bytes).clamp(LEAST_CALLS, calls)

          # @param store [Store]
          # @param point [Point]
          # @return [Integer] the size in bytes at which the store evicts nothing
          def capacity(store, point)
            entry_bytes = [point.bytes + store.beside, LEAST_ENTRY_BYTES].max
            ((point.entries + SPARE_ENTRIES) * entry_bytes * ROOM).round + (64 * MEGABYTE)
          end

          # @param store [Store]
          # @param point [Point]
          # @return [Integer] bytes that its medium must have free: a segment takes its room when it is made
          def needed(store, point)
            return capacity(store, point) if store.medium == :tmpfs
            point.entries * (point.bytes + store.beside) * (store.own ? point.processes : 1)
          end

          # @param point [Point]
          # @return [Float] estimated duration for one store and round
          def seconds(point)
            filling = point.entries * (ENTRY_SECONDS + (point.bytes * BYTE_SECONDS))
            calling = 3 * slices * calls_at(point) * (CALL_SECONDS + (point.bytes * BYTE_SECONDS)) * point.processes
            CONFIGURATION_SECONDS + (point.processes * PROCESS_SECONDS) + filling + calling
          end

          # @return [Float] estimated duration of the table
          def expected_seconds = (0...rounds).sum do |round|
            configurations(round).sum { |_store, point| seconds(point) }
          end
        end
      end
    end
  end
end
