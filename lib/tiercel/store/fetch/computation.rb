# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../coder"
require_relative "flights"

module Tiercel
  module Store
    module Fetch
      # Runs the blocks of one call or several, stores their values, and lands their flights.
      #
      # @private
      class Computation
        MISS = Coder::MISS
        # Values of several calls are stored at least this many times within a `lease_ttl`.
        STORES_PER_TTL = 3
        private_constant :MISS, :STORES_PER_TTL

        # @return [Hash{Call => Object}] the values that are already computed
        attr_reader :values
        # @return [Hash{Call => Leases::Lease, nil}]
        attr_reader :leases

        # @param settings [Settings]
        # @param leases [Hash{Call => Leases::Lease, nil}] the lease under which each call stores its value; nil: the
        #   call stores nothing
        # @param flights [Hash{Call => Flight}]
        # @param together [Boolean] whether to store all values in one trip, for `fetch_multi`; if not, each call sends
        #   its own events
        def initialize(settings, leases, flights, together: false)
          @settings = settings
          @leases = leases
          @flights = flights
          @together = together
          @values = {}
          @computed = {}
          @begun = false
        end

        # @return [Boolean] whether the blocks have begun; the computation then releases its leases itself
        def begun? = @begun

        # Passes the blocks on to another thread, which runs them even if the caller does not wait.
        #
        # @return [void]
        def hand_over
          @begun = true
          flights.each { |flight| flight.behind = true }
        end

        # @return [Hash{Call => Object}] the values
        def run
          @begun = true
          @unstored = @leases.dup
          @stored_at = Clock.monotonic
          Flights.hold(flights.freeze) do
            @leases.each { |call, lease| compute(call, lease) }
            store
          end
          @values
        rescue StandardError => error
          @computed.each { |call, value| land(call, value) }
          @unstored.each_key { |call| @flights[call].land_error(error) }
          raise
        ensure
          abandon
        end

        # Ends the computation: runs no further block, releases the leases of calls that store nothing, and lands the
        # flights.
        #
        # @return [void]
        def abandon
          (@unstored || @leases).each { |call, lease| call.release(lease) }
        ensure
          flights.each { |flight| flight.land(:abandoned) }
        end

        # @return [Array<Flight>] the flights of these calls
        def flights = @flights.values_at(*@leases.keys)

        private

        def compute(call, lease)
          flight = @flights[call]
          flight.borrowed = false
          flight.learn(lease || flight.beside, running: true)
          @settings.flights.computing(flight, lease&.lineage) do
            @together ? compute_only(call, flight) : compute_and_store(call, lease, flight)
          end
          land(call, @values[call]) unless @together
          store if @together && Clock.monotonic - @stored_at > call.policy.lease_ttl / STORES_PER_TTL
        rescue StandardError => error
          stale = call.stale_after(error, lease)
          raise if MISS.equal?(stale)
          @values[call] = stale
          @unstored.delete(call)
          flight.land(:found, lease.stale)
        end

        def compute_only(call, flight)
          @values[call] = @computed[call] = call.compute
          flight.tags = call.used_tags
        end

        def compute_and_store(call, lease, flight)
          @values[call], stored = call.compute_and_store(lease, flight)
          @unstored.delete(call) if stored
        end

        # Stores the values that were computed since the last call of this method, and lands their flights.
        def store
          frames = frames_of(@computed)
          ttl = ttl_of_all unless frames.empty?
          filled = fill(frames, ttl) unless frames.empty?
          @computed.each do |call, value|
            lease = @unstored.delete(call)
            stored = filled&.include?(call.key) || (frames[call] && overwrite(call, frames[call], ttl))
            call.remember(stored ? frames[call] : nil)
            release(call, lease) unless stored
            land(call, value)
          end
          @computed = {}
          @stored_at = Clock.monotonic
        end

        # @return [Hash{Call => String}] the frames to store
        def frames_of(values)
          values.filter_map do |call, value|
            next if value.nil? && call.options[:skip_nil]
            bytes = @settings.writer.frame(value, call.version, call.used_options, call.policy)
            [call, bytes] if bytes
          end.to_h
        end

        # The calls of a `fetch_multi` share their options.
        #
        # @return [Float, nil] seconds
        def ttl_of_all = @leases.each_key.first.then { |call| @settings.writer.fill_ttl(call.options, call.policy) }

        # @return [Array<String>, nil] the keys whose frames were stored
        def fill(frames, ttl)
          @settings.leases.fill_multi(frames.to_h { |call, bytes| [@unstored[call], bytes] }, ttl)
        end

        def overwrite(call, bytes, ttl) = @flights[call].overwrite(@settings.guard, bytes, ttl)

        def release(call, lease)
          @settings.writer.warn_if_deleted(@flights[call])
          call.release(lease)
        end

        def land(call, value) = @flights[call].land_value(value) { call.copy(value) }
      end
    end
  end
end
