# frozen_string_literal: true

require_relative "../../leases"
require_relative "call"
require_relative "databases"
require_relative "flights"
require_relative "held_flights"
require_relative "miss/displacing"
require_relative "miss/following"
require_relative "miss/in_time"
require_relative "miss/stale"
require_relative "time_limit"

module Tiercel
  module Store
    module Fetch
      # `fetch` has read and found nothing. Read this file from the top:
      #
      #   read -> miss -> {Flights#board}: is somebody of this process at it?
      #     yes, {Following}: wait for it to land; each follower decodes a copy of its own
      #     no, {#lead}: {Leases#take}: is somebody of another process at it?
      #       yes, {#join}: wait for its fill
      #       no, {#compute}: the block, {Leases#fill}
      #
      # Once callers have waited for `lease_wait`, one of them runs the block all the same. A caller that would wait in
      # a cycle runs it at once. What `timeout:` makes of this is in {InTime}, and which expired values are served
      # meanwhile in {Stale}.
      #
      # @private
      class Miss
        include Displacing
        include Following
        include InTime
        include Stale

        AGAIN = Object.new.freeze
        MISS = Coder::MISS
        # Seconds that are waited at most where two processes might wait for each other, or a database for one of them.
        NESTED_WAIT = 1.0
        # Seconds for which nobody tries again after a block that raised, where there is a stale value to serve.
        PAUSE = 5.0
        private_constant :AGAIN, :MISS, :NESTED_WAIT, :PAUSE

        # @param settings [Settings]
        # @param call [Call]
        # @param limit [TimeLimit, nil]
        def initialize(settings, call, limit = TimeLimit.for(call.policy))
          @leases = settings.leases
          @flights = settings.flights
          @backend = settings.backend
          @statistics = settings.statistics
          @takeovers = settings.takeovers
          @displacements = settings.displacements
          @call = call
          @held = HeldFlights.flights
          @limit = limit
          @let_down = 0
        end

        # @param begun [Array(Flight, Object), nil] a flight of this caller, and what its take has met: see {UsualMiss}
        # @return [Object] the value: stored, stale, somebody else's or the block's
        def value(begun = nil)
          @seen = @leases.seen(@call.key, @call.found) if @call.found
          @shown = [@call.found, @call.token] if @call.token && @seen.nil?
          stale = stale_at_hand
          return stale unless MISS.equal?(stale)
          flight, answer = begun
          loop do
            own = flight || new_flight(@call.wanted)
            boarded = flight || @flights.board(own, @seen&.lineage)
            @late = !boarded.shows?(@seen&.lineage)
            result = boarded.equal?(own) ? lead(own, answer) : follow(boarded)
            flight = answer = nil
            return result unless AGAIN.equal?(result)
            @call.renew_tags
          ensure
            @flights.leave(own) if own && !own.behind?
          end
        end

        # @param lease [Leases::Lease] one's own
        # @return [Boolean] whether the block will run in the background
        def refresh_behind(lease)
          flight = new_flight
          @call.trace!.background = true
          Background.enqueue do
            @statistics.count(:background_refreshes)
            compute_here(flight, lease)
          end
        end

        # Somebody had the lease and has not filled in time.
        #
        # @return [void]
        def took_over
          @statistics.count(:lease_takeovers)
          @call.trace!.takeover = true
          @takeovers.warn(@call.key, @call.policy.lease_ttl)
        end

        private

        # --- who leads ---

        # A thread that is killed before the block begins gives the lease back.
        #
        # @param answer [Leases::Lease, Array, nil] what its take has met already
        def lead(flight, answer = nil)
          @begun = false
          answer = take(answer) unless Leases::Lease === answer
          return found(flight, answer.bytes) if answer.is_a?(Leases::Present)
          answer.mine? ? begin_with(flight, answer) : join(flight, answer)
        ensure
          @leases.release(answer, stale_ttl: @call.stale_ttl) if answer.is_a?(Leases::Lease) && !@begun
        end

        # The findings of the read save the first look at it.
        def take(shown = nil, displaces: nil)
          shown ||= @shown unless displaces
          @shown = nil
          @leases.take(@call.key, @call.policy.lease_ttl, version: @call.kept_version, shown:, displaces:) do |bytes|
            @call.verdict(bytes)
          end
        end

        # A value came meanwhile.
        def found(flight, bytes)
          value = @call.value_of(bytes)
          return AGAIN if MISS.equal?(value)
          @call.remember(bytes)
          flight.land(:found, bytes)
          value
        end

        # The lease is one's own: the block runs, in the background where that is wished and something can be served.
        def begin_with(flight, lease)
          took_over if lease.takeover?
          @call.remember(lease.stale)
          @call.trace!.reason = :stale if lease.stale && @call.policy.stale_seconds
          stale = @call.policy.background? ? servable(lease) : MISS
          @begun = true
          return compute(flight, lease) if MISS.equal?(stale) || !refresh_behind(lease)
          give_stale(stale)
        end

        # Another process has the lease, or another flight of this one.
        def join(flight, lease)
          stale = served(lease)
          return stale unless MISS.equal?(stale)
          return displace(flight, lease) unless lease.version == @call.kept_version
          return compute(flight, lease) if lease.paused?
          @displacements.begin(@call) if lease.version
          flight.borrowed = true
          flight.learn(lease, running: false)
          @late = false # the take has shown whose value it will be
          earlier = @flights.earlier(flight, lease.lineage)
          earlier ? follow(earlier, flight) : @flights.waiting(flight, lease.lineage) { wait_for(flight, lease) }
        end

        def wait_for(flight, lease)
          @statistics.count(:lease_waits)
          case outcome = @call.trace!.waiting { @leases.wait(lease, limited(far_deadline)) }
          when Leases::Present then found(flight, outcome.bytes)
          when :deadline then past_deadline(lease, far_deadline) { compute(flight, lease) }
          when :released then after_release(flight, lease)
          else AGAIN
          end
        end

        # The leader stored nothing: all waiting callers run their blocks at once, one of them with the lease.
        def after_release(flight, lease)
          answer = take
          return found(flight, answer.bytes) if answer.is_a?(Leases::Present)
          compute(flight, answer.mine? || answer.same_lineage?(lease) ? answer : nil)
        end

        # --- the block ---

        # @param lease [Leases::Lease, nil] whose lineage it may fill; nil for none
        def compute_here(flight, lease)
          settled = false
          flight.borrowed = false
          flight.learn(lease || flight.beside, running: true)
          value, settled = @flights.computing(flight, lease&.lineage) do
            HeldFlights.with(flight) { @call.compute_and_store(lease, flight) }
          end
          flight.land_value(value) { @call.copy(value) }
          value
        rescue StandardError => error
          stale = stale_after(error, lease)
          unless MISS.equal?(stale)
            settled = true
            flight.land(:found, lease.stale)
            return stale
          end
          flight.land_error(error)
          raise
        ensure
          give_back(lease) if lease && !settled
          flight.land(:abandoned)
        end

        def new_flight(wanted = @call.version) = Flight.new(@backend, @call.key, wanted)

        # Nothing is stored in its place.
        def give_back(lease) = @leases.release(lease, stale_ttl: @call.stale_ttl)

        # --- how long ---

        # A row that this caller has locked may be what the holder waits for.
        def patience
          Databases.in_transaction? ? [@call.policy.lease_wait, NESTED_WAIT].min : @call.policy.lease_wait
        end

        def far_patience = @held.empty? ? patience : [patience, NESTED_WAIT].min
        def deadline = @deadline ||= Clock.monotonic + patience
        def far_deadline = @far_deadline ||= [deadline, Clock.monotonic + far_patience].min
      end
    end
  end
end
