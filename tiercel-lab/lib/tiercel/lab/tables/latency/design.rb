# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Latency
        # The measured stores, distances and rates.
        #
        # @!attribute [r] contestants
        #   @return [Array<Contestant>]
        # @!attribute [r] own
        #   @return [Array<Contestant>] stores of --url, which run on servers of the user
        # @!attribute [r] round_trips_ms
        #   @return [Array<Float>] delays of the proxy
        # @!attribute [r] megabits
        #   @return [Array<Float>] caps of a connection's bandwidth, Mbit/s each way
        # @!attribute [r] iterations
        #   @return [Integer] number of iterations of the loop
        # @!attribute [r] long_iterations
        #   @return [Integer]
        # @!attribute [r] long_seconds
        #   @return [Numeric] a longer loop is computed, not measured; 0: every loop is computed
        # @!attribute [r] budget_seconds
        #   @return [Numeric] longest duration of one run of the loop; a slower loop has fewer iterations
        # @!attribute [r] processes
        #   @return [Integer]
        # @!attribute [r] repeats
        #   @return [Integer] runs of each store and place in a process
        # @!attribute [r] rates
        #   @return [Array<Float>] requests a second that are offered to every store
        # @!attribute [r] load_seconds
        #   @return [Numeric] seconds of load at each rate in each process
        # @!attribute [r] arrivals
        #   @return [String] one of {Load::Arrivals::OPEN}
        # @!attribute [r] value
        #   @return [String, nil] name of a value; nil: the article's 1,001 characters
        Design = Data.define(:contestants, :own, :round_trips_ms, :megabits, :iterations, :long_iterations,
                             :long_seconds,
                             :budget_seconds, :processes, :repeats, :rates, :load_seconds, :arrivals, :value)

        class Design
          STORES = %w[redis_cache_store mem_cache_store tiercel:redis: tiercel:memcached: tiercel:shared:
                      memory_store].freeze
          FULL = { round_trips_ms: [0.0, 0.25, 0.5, 1.0, 5.0, 20.0], megabits: [100.0, 10.0], iterations: 1_000,
                   long_iterations: 100_000, long_seconds: 30, budget_seconds: 3, processes: 4, repeats: 1,
                   rates: [500.0, 2_000.0, 5_000.0, 10_000.0, 20_000.0], load_seconds: 0.8,
                   arrivals: "exponential", value: nil }.freeze
          # A quick run has three distances, fewer iterations of slow loops, and computes the 100,000 iterations.
          QUICK = { round_trips_ms: [0.0, 0.5, 5.0], megabits: [10.0], long_seconds: 0, budget_seconds: 0.2, repeats: 1,
                    rates: [1_000.0, 5_000.0, 20_000.0], load_seconds: 0.3 }.freeze
          # Starting a process and building its stores.
          PROCESS_SECONDS = 2.0

          # The place of a store without a server of the lab, by its medium.
          PLACES = { process: "in process", disk: "disk", loopback: "as it is", remote: "as it is" }.freeze

          # A store in one place.
          #
          # @!attribute [r] contestant
          #   @return [Contestant]
          # @!attribute [r] kind
          #   @return [String] "direct", "distance", "bandwidth" or "own"
          # @!attribute [r] delay_ms
          #   @return [Float, nil] asked of the proxy
          # @!attribute [r] megabits
          #   @return [Float, nil]
          Slot = Data.define(:contestant, :kind, :delay_ms, :megabits) do
            # @return [Boolean]
            def proxied? = !delay_ms.nil?

            # @return [String] description of the store and its connection to the server
            def subject = "#{contestant.name}#{" (far)" if proxied?}"

            # @return [String]
            def place
              case kind
              when "distance" then "+#{delay_ms.to_s.delete_suffix(".0")} ms"
              when "bandwidth"
                "+#{delay_ms.to_s.delete_suffix(".0")} ms, #{megabits.to_s.delete_suffix(".0")} Mbit/s"
              when "own" then "yours"
              else contestant.servers.any? ? "loopback" : PLACES.fetch(contestant.medium)
              end
            end
          end

          # A capped connection also has a distance, as between two machines of a data centre.
          CAPPED_MS = 0.5

          # @param quick [Boolean]
          # @param given [Hash] the user's options; nil for an option that the user did not set
          # @return [Design]
          def self.of(quick:, contestants:, own:, **given)
            new(contestants:, own:, **FULL, **(quick ? QUICK : {}), **given.compact)
          end

          # @return [Array<Slot>]
          def slots
            far = contestants.select { |contestant| contestant.servers.any? }
            slots_of("direct", contestants) +
              round_trips_ms.flat_map { |delay_ms| slots_of("distance", far, delay_ms:) } +
              megabits.flat_map { |rate| slots_of("bandwidth", far, delay_ms: CAPPED_MS, megabits: rate) } +
              slots_of("own", own)
          end

          # The slots that get an offered load: stores on this machine, and the user's own.
          #
          # @return [Array<Slot>]
          def loaded = slots.select { |slot| %w[direct own].include?(slot.kind) }

          # @return [Array<Symbol>]
          def servers = contestants.flat_map(&:servers).uniq

          # @param slot [Slot]
          # @return [Float] the estimate for one run
          def run_seconds(slot)
            [iterations * iteration_seconds(slot), budget_seconds].min + 0.05
          end

          # @return [Float] the estimate for the whole table
          def expected_seconds
            loops = slots.sum { |slot| run_seconds(slot) } * repeats
            long = long_seconds.positive? ? slots.sum { |slot| long_run_seconds(slot) } : 0
            (processes * (PROCESS_SECONDS + loops + (loaded.size * rates.size * load_seconds))) + long
          end

          private

          def slots_of(kind, contestants, delay_ms: nil, megabits: nil)
            contestants.map { |contestant| Slot.new(contestant:, kind:, delay_ms:, megabits:) }
          end

          # An iteration makes two calls; a proxy takes about as long as a server.
          def iteration_seconds(slot)
            return 1e-5 if slot.contestant.medium == :process
            2 * (slot.delay_ms ? slot.delay_ms + 0.2 : 0.1) / 1e3
          end

          def long_run_seconds(slot)
            seconds = iteration_seconds(slot) * long_iterations
            seconds <= long_seconds ? seconds : 0
          end
        end
      end
    end
  end
end
