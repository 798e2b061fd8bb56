# frozen_string_literal: true

require_relative "miss"
require_relative "multi_miss/in_time"

module Tiercel
  module Store
    module Fetch
      # What happens when `fetch_multi` has read and some names were not there:
      #
      #   {Leases#take_multi}, which waits for none -> the blocks of those that are free -> {Leases#fill_multi}
      #   -> then each of the others as a {Miss} of its own
      #
      # Whoever waits holds nothing any more, so callers of [a, b] and of [b, a] never wait for each other.
      #
      # With `timeout:` the blocks of one call run in one thread, and all of them share one {TimeLimit}.
      #
      # @private
      class MultiMiss
        include InTime

        MISS = Coder::MISS
        # What is computed is stored at least so many times within a `lease_ttl`.
        FILLS_PER_TTL = 3
        private_constant :MISS, :FILLS_PER_TTL

        # @param settings [Settings]
        # @param calls [Array<Call>] in the order of the names
        # @param policy [FetchPolicy] of all of them
        # @param shown [Hash{String => Accessor::Found}] by key, what the read has found that was no value
        # @yieldparam values [Hash{Call => Object}] that are to be stored
        # @yieldreturn [Array(Hash{Call => String}, Float)] their frames, and the ttl for all of them
        def initialize(settings, calls, policy, shown = {}, &frames)
          @settings = settings
          @leases = settings.leases
          @flights = settings.flights
          @calls = calls
          @policy = policy
          @shown = shown
          @frames = frames
          @values = {}
          @flown = {}
        end

        # @return [Hash{Object => Object}] names and values
        def values
          @limit = TimeLimit.for(@policy)
          compute_in_time(take_all(board_all))
          @calls.to_h do |call|
            [call.name, @values.fetch(call) { miss(call).value }]
          end
        ensure
          give_back_taken unless @open || @behind
          leave_all unless @behind
        end

        private

        # @return [Hash{String => Call}] by key, those that nobody in this process is at
        def board_all
          @calls.each_with_object({}) do |call, led|
            next if led.key?(call.key)
            @flown[call] = own = Flight.new(@settings.backend, call.key, call.wanted)
            next @flown.delete(call) unless @flights.board(own, nil).equal?(own)
            led[call.key] = call
          end
        end

        # @return [Hash{Call => Leases::Lease}] those that are to be computed here
        def take_all(led)
          return {} if led.empty?
          versions = led.transform_values(&:kept_version).compact
          shown = shown_of(led)
          @taken = @leases.take_multi(led.keys, @policy.lease_ttl, versions:, shown:) do |key, bytes|
            led[key].verdict(bytes)
          end
          @taken.filter_map { |key, answer| [led[key], answer] unless settled?(led[key], answer) }.to_h
        end

        # Whoever is killed before the first block begins gives the leases back.
        def give_back_taken
          @taken&.each_value { |answer| @leases.release(answer) if answer.is_a?(Leases::Lease) }
        end

        # @return [Hash{String => Array(String, Object)}] bytes and token of what is no lease
        def shown_of(led)
          @shown.slice(*led.keys).filter_map do |key, found|
            [key, [found.bytes, found.token]] if found.token && @leases.seen(key, found.bytes).nil?
          end.to_h
        end

        # Whether there is a value by now, or somebody else is at it; who waits for the flight looks anew.
        def settled?(call, answer)
          return false if answer.is_a?(Leases::Lease) && answer.mine? && !refreshed_behind?(call, answer)
          value = answer.is_a?(Leases::Present) ? call.value_of(answer.bytes) : miss(call).served(answer)
          @values[call] = value unless MISS.equal?(value)
          @flights.leave(@flown.delete(call))
          true
        end

        def refreshed_behind?(call, lease)
          miss(call).took_over if lease.takeover?
          @policy.background? && !MISS.equal?(miss(call).servable(lease)) && miss(call).refresh_behind(lease)
        end

        def miss(call) = Miss.new(@settings, call, @limit)

        def leave_all
          @flown.each_value { |flight| @flights.leave(flight) }
        end

        def compute_all(leases)
          @open = leases
          @computed = {}
          @filled_at = Clock.monotonic
          Held.with_all(@flown.values) do
            leases.each { |call, lease| compute(call, lease) }
          end
          fill
        rescue StandardError => error
          @computed.each { |call, value| @flown[call].land_value(value) { call.copy(value) } }
          @open.each_key { |call| @flown[call].land_error(error) }
          raise
        ensure
          @open&.each do |call, lease|
            @leases.release(lease, stale_ttl: call.stale_ttl)
            @flown[call].land(:abandoned)
          end
        end

        def compute(call, lease)
          @flown[call].learn(lease, running: true)
          @values[call] = @computed[call] = @flights.computing(@flown[call], lease.lineage) { call.compute }
          @flown[call].tags = call.used_tags
          fill if Clock.monotonic - @filled_at > @policy.lease_ttl / FILLS_PER_TTL
        rescue StandardError => error
          stale = miss(call).stale_after(error, lease)
          raise if MISS.equal?(stale)
          @values[call] = stale
          @open.delete(call)
          @flown[call].land(:found, lease.stale)
        end

        # Stores what is computed, and lands its flights.
        def fill
          frames, ttl = @frames.call(@computed)
          stored = @leases.fill_multi(frames.to_h { |call, bytes| [@open[call], bytes] }, ttl) unless frames.empty?
          @computed.each do |call, value|
            lease = @open.delete(call)
            done = stored&.include?(call.key)
            call.remember(done ? frames[call] : nil)
            give_up(call, lease) unless done
            @flown[call].land_value(value) { call.copy(value) }
          end
          @computed = {}
          @filled_at = Clock.monotonic
        end

        # Nothing is stored in its place.
        def give_up(call, lease)
          @settings.uncached.warn(call.key) if @flown[call].deleted
          @leases.release(lease, stale_ttl: call.stale_ttl)
        end
      end
    end
  end
end
