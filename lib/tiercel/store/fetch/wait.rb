# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../coder"
require_relative "../../leases"
require_relative "databases"
require_relative "flights"

module Tiercel
  module Store
    module Fetch
      # Waits for another caller's computation: for a flight of this process, or for a lease of another process.
      #
      # `lease_wait` and `timeout:` limit each wait, and so does {NESTED_WAIT} if two processes might wait for each
      # other. If waiting would create a cycle, the call runs its block at once.
      #
      # @private
      class Wait
        # The call begins a new round.
        AGAIN = Object.new.freeze
        # The round has a new lease or value for the call.
        ANSWERED = Object.new.freeze
        # The call continues to wait.
        ON = Object.new.freeze
        MISS = Coder::MISS
        # The longest wait inside the block of another fetch, in seconds.
        NESTED_WAIT = 1.0
        private_constant :ON, :MISS, :NESTED_WAIT

        # @param settings [Settings]
        # @param call [Call]
        # @param limit [TimeLimit, nil]
        # @yield computes the value of the call
        # @yieldparam flight [Flight] the flight that computes the value
        # @yieldparam lease [Leases::Lease, nil] a lease under whose lineage the value may be stored
        def initialize(settings, call, limit, &compute)
          @settings = settings
          @flights = settings.flights
          @call = call
          @limit = limit
          @compute = compute
          @held = Flights.held
          @abandoned = 0
        end

        # @param round [LeaseRound] the call's round
        # @return [Object] the value; {AGAIN}; or {ANSWERED}
        def value(round)
          @round = round
          if (flight = round.followed[@call]) then follow(flight)
          elsif (lease = round.rivals[@call]) then wait_or_compute(round.flights[@call], lease)
          else AGAIN
          end
        end

        private

        def compute(flight, lease) = @compute.call(flight, lease)

        # --- a lease of another caller ---

        def wait_or_compute(own, lease)
          return displace(own, lease) unless lease.version == @call.kept_version
          return compute(own, lease) if lease.paused?
          @call.begin_displacing if lease.version
          own.borrowed = true
          own.learn(lease, running: false)
          @call.late = false # the acquire has returned the lease of the expected value
          earlier = @flights.earlier(own, lease.lineage)
          earlier ? follow(earlier, own) : @flights.waiting(own, lease.lineage) { wait_for(own, lease) }
        end

        def wait_for(own, lease)
          case outcome = @call.trace!.waiting { @settings.leases.wait(lease, limited(far_deadline)) }
          when Leases::Present then found(outcome)
          when :deadline then past_deadline(lease, far_deadline) { compute(own, lease) }
          when :released then after_release(own, lease)
          else AGAIN
          end
        end

        def found(present)
          value = @round.found(@call, present)
          MISS.equal?(value) ? AGAIN : value
        end

        # The leader stored nothing: all waiting callers run their blocks at once, one of them with the lease.
        def after_release(own, lease)
          answer = @call.acquire
          return found(answer) if answer.is_a?(Leases::Present)
          compute(own, answer.mine? || answer.same_lineage?(lease) ? answer : nil)
        end

        # The lease is for another version or for other tags: a record was changed while its fragment is rendered, or
        # tags were invalidated. This call displaces the lease, so that the newer value is stored. If a caller of this
        # process has lately displaced a lease for the same version, the block runs beside the lease instead: once for
        # all callers of this process, and without storing the value.
        def displace(own, lease)
          return AGAIN if @call.renew_tags
          # If a block for this version still runs in this process, its own lease was displaced.
          return compute_beside(own, lease) if @flights.computing?(own) || !@call.begin_displacing
          @round.take(@call, displaces: lease.lineage)
          ANSWERED
        end

        def compute_beside(own, lease)
          own.beside = lease
          @call.late = false # the acquire has returned the current lease
          other = @flights.beside(own, lease.lineage)
          other ? follow(other, own) : compute(own, nil)
        end

        # --- a flight of this process ---

        # @param flight [Flight] another caller's flight
        # @param own [Flight, nil] a flight that this call leads; it lands with the other flight's outcome
        def follow(flight, own = nil)
          result = ON
          result = follow_once(flight, own) while ON.equal?(result)
          result
        end

        # A late caller begins a new round, because the leader's acquire may have returned an older state.
        def follow_once(flight, own)
          stale = MISS
          outcome = @call.trace!.waiting do
            flight.await([*@held, *own], limited(deadline), limited(far_deadline)) do |lease|
              !MISS.equal?(stale = @call.stale_beside(lease)) || (@call.late && flight.borrowed)
            end
          end
          case outcome
          when :left then left_early(flight, stale)
          when :cycle then compute(own || new_flight, flight.lease_to_fill)
          when :deadline then after_deadline(flight, own)
          when :stalled then relieve(flight, own, NESTED_WAIT)
          else share(outcome, flight, own)
          end
        end

        def left_early(flight, stale)
          outdated = MISS.equal?(stale) || (@call.late && flight.lease.stale != @call.found)
          outdated ? AGAIN : @call.serve_stale(stale)
        end

        # @param outcome [Flight::Outcome]
        def share(outcome, flight, own)
          return AGAIN if @call.late && (flight.borrowed || outcome.kind == :found)
          return after_abandoned(flight) unless @call.accepts?(flight.tags)
          own&.tags = flight.tags
          own&.land(outcome.kind, outcome.content) unless outcome.kind == :gone
          case outcome.kind
          when :frame then @call.value_of_copy(outcome.content)
          when :found then value_of_found(outcome.content)
          when :value then outcome.content
          when :error then raise outcome.content.dup
          when :abandoned then after_abandoned(flight)
          when :gone then own ? compute(own, flight.lease_to_fill) : AGAIN
          else AGAIN
          end
        end

        def value_of_found(bytes)
          value = @call.value_of(bytes)
          value = @call.serve_stale(@call.stale_value_of(bytes, after_error: true)) if MISS.equal?(value)
          MISS.equal?(value) ? AGAIN : value
        end

        # One follower takes over. A follower that two leaders have abandoned runs its block instead of waiting again.
        def after_abandoned(flight)
          @abandoned += 1
          @abandoned > 1 ? compute(new_flight, flight.lease_to_fill) : AGAIN
        end

        # If a block takes too long, one caller of this process at a time runs its own block as well.
        #
        # @param after [Float] seconds after which a block takes too long
        def relieve(flight, own, after)
          relief = own || new_flight
          again_at = Databases.in_transaction? ? nil : flight.relieve(relief, after)
          return compute(relief, flight.lease_to_fill) unless again_at
          @deadline = [deadline, again_at].max
          @far_deadline = [far_deadline, again_at].max
          ON
        end

        def new_flight = Flight.new(@settings.backend, @call.key, @call.version)

        # --- how long ---

        # Waits only briefly in a transaction, because the lease's holder may be waiting for a row that this caller has
        # locked.
        def patience
          seconds = @call.policy.lease_wait
          Databases.in_transaction? ? [seconds, NESTED_WAIT].min : seconds
        end

        def far_patience = Flights.inside_block? ? [patience, NESTED_WAIT].min : patience
        def deadline = @deadline ||= Clock.monotonic + patience
        def far_deadline = @far_deadline ||= [deadline, Clock.monotonic + far_patience].min

        # @return [Float] the end of the wait: the deadline, or the call's own time limit if it is earlier
        def limited(deadline) = @limit ? @limit.before(deadline) : deadline

        # Decides after a deadline: the call continues to wait unless `lease_wait` or its own time limit is over.
        def after_deadline(flight, own)
          near = flight.running? || flight.lease.nil?
          result = past_deadline(flight.lease, near ? deadline : far_deadline) do
            relieve(flight, own, near ? patience : far_patience)
          end
          AGAIN.equal?(result) ? ON : result
        end

        # Called when a wait has reached the deadline or the time limit of this call.
        #
        # @param deadline [Float] the time after which the block decides
        # @return [Object] AGAIN if neither is over
        def past_deadline(lease, deadline)
          return yield unless @limit
          stale = @call.stale_when_late(lease)
          if @limit.passed?(stale: !MISS.equal?(stale))
            return @call.time_out(@limit, stale)
          end
          deadline <= Clock.monotonic ? yield : AGAIN
        end
      end
    end
  end
end
