# frozen_string_literal: true

require "timeout"

require_relative "../../guard"
require_relative "../../leases"
require_relative "background"
require_relative "call"
require_relative "databases"
require_relative "flights"
require_relative "held"
require_relative "miss/in_time"
require_relative "time_limit"

module Tiercel
  module Store
    module Fetch
      # What happens when `fetch` has read and found nothing: to be read from the top.
      #
      #   read -> miss -> {Flights#board}: is somebody of this process at it?
      #     yes, {#follow}: wait for it to land; each follower decodes a copy of its own
      #     no, {#lead}: {Leases#take}: is somebody of another process at it?
      #       yes, {#join}: wait for its fill
      #       no, {#compute}: the block, {Leases#fill}
      #
      # Whoever has waited for `lease_wait` runs the block all the same, and so does who would wait in a cycle. What
      # `timeout:` makes of this is in {InTime}.
      #
      # @private
      class Miss
        include InTime

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
          @statistics = settings.statistics
          @takeovers = settings.takeovers
          @call = call
          @held = Held.flights
          @limit = limit
          @let_down = 0
          @outrun = false
        end

        # @param begun [Array(Flight, Object), nil] a flight of this caller, and what its take has met: see {Straight}
        # @return [Object] the value: stored, stale, somebody else's or the block's
        def value(begun = nil)
          @seen = @leases.seen(@call.key, @call.found) if @call.found
          @shown = [@call.found, @call.token] if @call.token && @seen.nil?
          stale = stale_at_hand
          return stale unless MISS.equal?(stale)
          flight, answer = begun
          loop do
            own = flight || Flight.new(@call.key, @call.wanted)
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

        # @param lease [Leases::Lease] of somebody else
        # @return [Object] the value that may be served meanwhile, or MISS
        def served(lease)
          give_stale(servable(lease))
        end

        # @param lease [Leases::Lease] one's own
        # @return [Boolean] whether the block will run in the background
        def refresh_behind(lease)
          flight = Flight.new(@call.key, @call.version)
          @call.account!.background = true
          Background.enqueue do
            @statistics.count(:background_refreshes)
            compute_here(flight, lease)
          end
        end

        # @param stale [Object] a value that has ended and is given, or MISS
        # @return [Object] the same
        def give_stale(stale)
          return stale if MISS.equal?(stale)
          @statistics.count(:stale_hits)
          @call.account!.stale = true
          stale
        end

        # Somebody had the lease and has not filled in time.
        #
        # @return [void]
        def took_over
          @statistics.count(:lease_takeovers)
          @call.account!.takeover = true
          @takeovers.warn(@call.key, @call.policy.lease_ttl)
        end

        private

        # --- who leads ---

        # Whoever is killed before the block begins gives the lease back.
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

        # What the read has shown saves the first look at it.
        def take(shown = nil)
          shown ||= @shown
          @shown = nil
          @leases.take(@call.key, @call.policy.lease_ttl, version: @call.kept_version, shown:) do |bytes|
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
          @call.account!.reason = :stale if lease.stale && @call.policy.stale_seconds
          stale = @call.policy.background? ? servable(lease) : MISS
          @begun = true
          return compute(flight, lease) if MISS.equal?(stale) || !refresh_behind(lease)
          give_stale(stale)
        end

        # Another process has the lease, or another flight of this one.
        def join(flight, lease)
          stale = served(lease)
          return stale unless MISS.equal?(stale)
          return outrun(flight) unless lease.version == @call.kept_version
          return compute(flight, lease) if lease.paused?
          flight.borrowed = true
          flight.learn(lease, running: false)
          @late = false # the take has shown whose value it will be
          earlier = @flights.earlier(flight, lease.lineage)
          earlier ? follow(earlier, flight) : @flights.waiting(flight, lease.lineage) { wait_for(flight, lease) }
        end

        # The lease is for another version, or for tags that were invalidated since it was taken: then its value will be
        # of no use to anybody.
        def outrun(flight)
          return compute(flight, nil) if @outrun || @call.tags.nil?
          @outrun = true
          @call.end_lease unless @call.renew_tags
          AGAIN
        end

        def wait_for(flight, lease)
          @statistics.count(:lease_waits)
          case outcome = @call.account!.waiting { @leases.wait(lease, limited(far_deadline)) }
          when Leases::Present then found(flight, outcome.bytes)
          when :deadline then past_deadline(lease, far_deadline) { compute(flight, lease) }
          when :released then after_release(flight, lease)
          else AGAIN
          end
        end

        # Whoever had the lease stored nothing: all who waited run their blocks at once, one of them with the lease.
        def after_release(flight, lease)
          answer = take
          return found(flight, answer.bytes) if answer.is_a?(Leases::Present)
          compute(flight, answer.mine? || answer.same_lineage?(lease) ? answer : nil)
        end

        # --- who follows ---

        # Whoever is late, and would be given what a take has met before, looks what there is now.
        #
        # @param flight [Flight] that somebody else leads
        # @param own [Flight, nil] that the caller leads, and lands as that one lands
        def follow(flight, own = nil)
          stale = MISS
          outcome = @call.account!.waiting do
            flight.await([*@held, *own], limited(deadline), limited(far_deadline)) do |lease|
              !MISS.equal?(stale = servable(lease)) || (@late && flight.borrowed)
            end
          end
          case outcome
          when :left
            MISS.equal?(stale) || (@late && flight.lease.stale != @call.found) ? AGAIN : give_stale(stale)
          when :cycle then compute(own || Flight.new(@call.key, @call.version), flight.lease)
          when :deadline then after_waiting(flight, own)
          else share(outcome, flight, own)
          end
        end

        def share(outcome, flight, own)
          return AGAIN if @late && (flight.borrowed || outcome.kind == :found)
          return abandoned(flight) unless @call.accepts?(flight.tags)
          content = outcome.content
          own&.tags = flight.tags
          own&.land(outcome.kind, content)
          case outcome.kind
          when :frame then @call.value_of_copy(content)
          when :found then shared_bytes(content)
          when :value then content
          when :error then raise content.dup
          when :abandoned then abandoned(flight)
          else AGAIN
          end
        end

        def shared_bytes(bytes)
          value = @call.value_of(bytes)
          value = give_stale(@call.stale_value_of(bytes, after_error: true)) if MISS.equal?(value)
          MISS.equal?(value) ? AGAIN : value
        end

        # Somebody takes over; whoever is let down twice waits no more.
        def abandoned(flight)
          @let_down += 1
          @let_down > 1 ? compute(Flight.new(@call.key, @call.version), flight.lease) : AGAIN
        end

        # --- the block ---

        # @param lease [Leases::Lease, nil] whose lineage it may fill; nil for none
        def compute_here(flight, lease)
          settled = false
          flight.borrowed = false
          flight.learn(lease, running: true)
          value, settled = @flights.computing(flight, lease&.lineage) do
            Held.with(flight) { @call.compute_and_store(lease, flight) }
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
          flight.land(:error, error) unless error.is_a?(Timeout::Error)
          raise
        ensure
          give_back(lease) if lease && !settled
          flight.land(:abandoned)
        end

        # Nothing is stored in its place.
        def give_back(lease) = @leases.release(lease, stale_ttl: @call.stale_ttl)

        # --- what has ended, and may be served ---

        # Without another trip: what the caller's own read has found.
        def stale_at_hand
          return MISS if @seen.nil? || @seen.released? || @leases.lapsed?(@seen)
          served(@seen)
        end

        # A value that the lease has beside it: one that plain reads see too, or one for `fetch` alone.
        def servable(lease)
          return MISS unless lease.stale
          value = lease.mine? ? MISS : @call.value_of(lease.stale)
          MISS.equal?(value) ? @call.stale_value_of(lease.stale, after_error: lease.paused?) : value
        end

        # Within `stale_if_error`: the error is reported, and for a while nobody tries again.
        def stale_after(error, lease)
          return MISS unless lease&.stale
          stale = @call.stale_value_of(lease.stale, after_error: true)
          return MISS if MISS.equal?(stale) || !@call.error_covered?(lease.stale)
          @leases.release(lease, pause: PAUSE, stale_ttl: @call.stale_ttl)
          ActiveSupport.error_reporter&.report(error, handled: true, severity: :warning, source: Guard::SOURCE,
                                                      context: { key: @call.key })
          give_stale(stale)
        end

        public :servable, :stale_after # which {MultiMiss} asks too

        # --- how long ---

        # A row that this caller has locked may be what the holder waits for.
        def deadline
          @deadline ||= Clock.monotonic + (Databases.in_transaction? ? [@call.policy.lease_wait, NESTED_WAIT].min
                                                                     : @call.policy.lease_wait)
        end

        def far_deadline
          @far_deadline ||= @held.empty? ? deadline : [deadline, Clock.monotonic + NESTED_WAIT].min
        end
      end
    end
  end
end
