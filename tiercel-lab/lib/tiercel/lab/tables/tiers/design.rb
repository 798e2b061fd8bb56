# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Tiers
        # The measurements besides hits: stacks, distances, shares of near hits, and numbers of changes.
        #
        # @!attribute [r] stores
        #   @return [Array<String>] texts of contestants with tiers
        # @!attribute [r] round_trips_ms
        #   @return [Array<Float>] round trips between a client and the last tier's server
        # @!attribute [r] shares
        #   @return [Array<Float>] shares of reads that hit the near tier
        # @!attribute [r] repeats
        #   @return [Integer] slices of each share and round trip
        # @!attribute [r] slice_seconds
        #   @return [Float] approximate duration of a slice
        # @!attribute [r] changes
        #   @return [Integer] changes that another machine watches, under each condition
        # @!attribute [r] gap_ms
        #   @return [Float] average time between two changes
        # @!attribute [r] busy
        #   @return [Array<Integer>] threads that compute in the other machine's process
        # @!attribute [r] burst
        #   @return [Integer] writes as fast as they can be made
        Design = Data.define(:stores, :round_trips_ms, :shares, :repeats, :slice_seconds, :changes, :gap_ms, :busy,
                             :burst)

        class Design
          FULL = new(stores: ["tiercel:shared: redis:", "tiercel:shared: sqlite:"],
                     round_trips_ms: [0.0, 0.25, 0.5, 1.0, 2.0, 5.0],
                     shares: [0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0], repeats: 6, slice_seconds: 0.1, changes: 300,
                     gap_ms: 12.0, busy: [0, 1, 3], burst: 2_000)
          QUICK = FULL.with(round_trips_ms: [0.0, 0.5, 5.0], shares: [0.0, 0.5, 0.9, 0.99, 1.0], repeats: 2,
                            slice_seconds: 0.03, changes: 60, gap_ms: 20.0, busy: [0, 1], burst: 500)

          # The approximate time of a near hit, and of a far hit without distance.
          NEAR_SECONDS = 2e-6
          FAR_SECONDS = 0.15e-3
          CALLS = (20..400)
          # Extra time to watch, for each computing thread.
          BUSY_SECONDS = 1.5
          PROCESS_SECONDS = 0.6

          # @return [Array<Stack>]
          def stacks = stores.map { |text| Stack.new(text) }

          # @return [Array<Float>] the round trips of a stack: only a server can have distance
          def round_trips(stack) = stack.server ? round_trips_ms : [0.0]

          # @return [Integer] reads in a slice
          def calls(share, round_trip_ms)
            seconds = (share * NEAR_SECONDS) + ((1 - share) * (FAR_SECONDS + (round_trip_ms / 1e3)))
            (slice_seconds / seconds).floor.clamp(CALLS)
          end

          # @return [Integer] near hits in a slice
          def near_calls(share, round_trip_ms) = (share * calls(share, round_trip_ms)).round

          # @return [Integer] names that are read once, far
          def far_names(round_trip_ms)
            (repeats + 1) * shares.sum { |share| calls(share, round_trip_ms) - near_calls(share, round_trip_ms) }
          end

          # @param stack [Stack]
          # @return [Array<Array(Integer, Boolean)>] busy threads of the watching process, and whether an idle process
          #   of its machine listens too
          def conditions(stack)
            [*busy.product([false]), *(busy.select(&:positive?).product([true]) if stack.shares_news?)]
          end

          # Seconds for which the other machine watches for changes.
          def watch_seconds(stack, busy = 0) = (changes * gap_ms / 1e3) + stack.patience_seconds + (busy * BUSY_SECONDS)

          # @param stack [Stack]
          # @return [Float] an estimate
          def mix_seconds(stack) = PROCESS_SECONDS + (round_trips(stack).sum { |each| 0.3 + distance_seconds(each) })

          # @param stack [Stack]
          # @return [Float] an estimate
          def machines_seconds(stack)
            ((conditions(stack).size + 1) * condition_seconds(stack)) + burst_seconds(stack)
          end

          # @param stack [Stack]
          # @return [Float] an estimate for the changes under one condition
          def condition_seconds(stack) = watch_seconds(stack) + (3 * PROCESS_SECONDS)

          # @param stack [Stack]
          # @return [Float] an estimate
          def burst_seconds(stack) = stack.patience_seconds + 2

          # @return [Float] an estimate
          def expected_seconds = stacks.sum { |stack| mix_seconds(stack) + machines_seconds(stack) }

          private

          def distance_seconds(round_trip_ms)
            (repeats + 1) * shares.size * slice_seconds +
              (far_names(round_trip_ms) * 1e-5) + ((repeats + 1) * 20 * round_trip_ms / 1e3)
          end
        end
      end
    end
  end
end
