# frozen_string_literal: true

require_relative "../../coder"
require_relative "../../leases"
require_relative "computation"
require_relative "flight"

module Tiercel
  module Store
    module Fetch
      # Decides without waiting which of several missed calls this caller computes.
      #
      #   {#acquire}: {Flights#board} -> {Leases#take} or {Leases#take_multi} -> {#computation}
      #
      # Afterwards each call has a value, its own lease, or a flight or lease of another caller. A call without any of
      # these begins again, because the entry has changed concurrently. {#leave} ends the round.
      #
      # @private
      class LeaseRound
        MISS = Coder::MISS
        private_constant :MISS

        # @return [Hash{Call => Object}] the values that are known so far
        attr_reader :values
        # @return [Hash{Call => Leases::Lease}] leases of the calls that this caller computes
        attr_reader :leases
        # @return [Hash{Call => Flight}] flights that this caller leads
        attr_reader :flights
        # @return [Hash{Call => Flight}] flights that another caller of this process leads
        attr_reader :followed
        # @return [Hash{Call => Leases::Lease}] leases that another caller holds
        attr_reader :rivals

        # @param settings [Settings]
        # @param calls [Array<Call>] calls with different keys
        # @param together [Boolean] see {Computation}
        def initialize(settings, calls, together: false)
          @settings = settings
          @calls = calls
          @together = together
          @values = {}
          @answers = {}
          @leases = {}
          @flights = {}
          @followed = {}
          @rivals = {}
        end

        # Joins or begins a flight for each call, and acquires the free leases.
        #
        # @return [void]
        def acquire
          led = @calls.select { |call| board(call) }
          return if led.empty?
          led.one? ? take(led.first, shown: led.first.take_shown) : take_multi(led)
        end

        # Continues with a flight that this caller already leads.
        #
        # @param answer [Leases::Lease, Leases::Present, nil] the result of {Leases#take_absent}
        # @return [void]
        def adopt(call, flight, answer)
          @flights[call] = flight
          return take(call, shown: answer) unless answer.is_a?(Leases::Lease)
          @answers[call] = answer
          resolve(call, answer)
        end

        # @param shown [Leases::Present, nil] see {Leases#take}
        # @param displaces [String, nil] see {Leases#take}
        # @return [void]
        def take(call, shown: nil, displaces: nil)
          @rivals.delete(call)
          @answers[call] = answer = call.acquire(shown:, displaces:)
          resolve(call, answer)
        end

        # @param present [Leases::Present] an entry that another caller stored concurrently
        # @return [Object] the entry's value, if the call can use it; else MISS
        def found(call, present)
          value = call.value_of(present.bytes)
          return value if MISS.equal?(value)
          call.remember(present.bytes)
          @flights[call].land(:found, present.bytes)
          @values[call] = value
        end

        # @return [Computation, nil] computes the calls with leases, and releases the leases; nil without such calls
        def computation
          return if @leases.empty?
          leases = @leases
          @leases = {}
          @computation = Computation.new(@settings, leases, @flights, together: @together)
        end

        # Releases the leases whose blocks have not begun, and leaves the flights.
        #
        # @return [void]
        def leave
          return if @computation&.begun?
          @answers.each { |call, answer| call.release(answer) if answer.is_a?(Leases::Lease) }
        ensure
          @flights.each_value { |flight| @settings.flights.leave(flight) unless flight.behind? }
        end

        private

        # @return [Boolean] whether this caller leads the flight
        def board(call)
          stale = @together ? MISS : call.stale_at_hand # for a batch, the backend's answer is more recent
          @values[call] = stale unless MISS.equal?(stale)
          return false if @values.key?(call)
          @flights[call] = own = Flight.new(@settings.backend, call.key, call.wanted)
          flight = @settings.flights.board(own, call.lineage)
          return true if flight.equal?(own)
          @flights.delete(call)
          call.late = !flight.shows?(call.lineage)
          @followed[call] = flight
          false
        end

        # Acquires several leases and leaves every flight without a lease at once, so that no other caller waits for it.
        def take_multi(led)
          by_key = led.to_h { |call| [call.key, call] }
          ttl = led.first.policy.lease_ttl
          versions = by_key.transform_values(&:kept_version).compact
          shown = by_key.transform_values(&:take_shown).compact
          @answers = @settings.leases.take_multi(by_key.keys, ttl, versions:, shown:) do |key, bytes|
            by_key[key].verdict(bytes)
          end.transform_keys(by_key)
          @answers.dup.each { |call, answer| resolve(call, answer) }
          led.each { |call| @settings.flights.leave(@flights.delete(call)) unless @leases.key?(call) }
        end

        def resolve(call, answer)
          return found(call, answer) if answer.is_a?(Leases::Present)
          return begin_with(call, answer) if answer.mine?
          stale = call.serve_stale(call.stale_beside(answer))
          MISS.equal?(stale) ? @rivals[call] = answer : @values[call] = stale
        end

        # Runs the block in the background if the policy allows it and there is a stale value to return.
        def begin_with(call, lease)
          return @answers.delete(call) if call.optional? && !lease.sure?
          call.begin_with(lease)
          stale = call.policy.background? ? call.stale_beside(lease) : MISS
          if MISS.equal?(stale) || !(refresh_behind(call, lease) || call.optional?)
            @leases[call] = lease
          else
            @values[call] = call.serve_stale(stale)
          end
        end

        # @return [Boolean] whether the block will run in the background
        def refresh_behind(call, lease)
          flight = Flight.new(@settings.backend, call.key, call.version)
          computation = Computation.new(@settings, { call => lease }, { call => flight })
          call.trace!.background = true
          behind = Background.enqueue { computation.run }
          behind ? @answers.delete(call) : call.trace!.background = nil
          behind
        end
      end
    end
  end
end
