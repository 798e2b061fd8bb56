# frozen_string_literal: true

require_relative "miss"

module Tiercel
  module Store
    module Fetch
      # Several calls that have missed, for which leases are taken at once:
      #
      #   {#take}: {Leases#take_multi}, which waits for none -> {#compute}: the blocks of those that are free ->
      #   {Leases#fill_multi}
      #
      # Calls that somebody else computes have no value afterwards. {#leave} ends a round that was not computed.
      #
      # @private
      class LeaseRound
        MISS = Coder::MISS
        # Computed values are stored at least so many times within a `lease_ttl`.
        FILLS_PER_TTL = 3
        private_constant :MISS, :FILLS_PER_TTL

        # @return [Hash{Call => Object}] what is known by now
        attr_reader :values
        # @return [Hash{Call => Leases::Lease}] those that are to be computed here
        attr_reader :leases

        # @param settings [Settings]
        # @param calls [Array<Call>] of different keys
        # @param policy [Policy] of all of them
        # @param options [Hash] of all of them, merged
        # @param useless [Hash{String => Accessor::Found}] by key, what the read has found that was no value
        # @yieldparam call [Call]
        # @yieldreturn [Miss] of that call
        def initialize(settings, calls, options, policy, useless, &miss)
          @settings = settings
          @held = settings.leases
          @flights = settings.flights
          @calls = calls
          @policy = policy
          @options = options
          @useless = useless
          @miss = miss
          @values = {}
          @flown = {}
          @leases = {}
        end

        # Takes the leases that are free.
        #
        # @return [void]
        def take
          led = board
          return if led.empty?
          versions = led.transform_values(&:kept_version).compact
          @taken = @held.take_multi(led.keys, @policy.lease_ttl, versions:, shown: shown_of(led)) do |key, bytes|
            led[key].verdict(bytes)
          end
          @leases = @taken.filter_map { |key, answer| [led[key], answer] unless settled?(led[key], answer) }.to_h
        end

        # Runs the blocks, and stores what they give.
        #
        # @return [void]
        def compute
          return if @leases.empty?
          @open = @leases.dup
          @computed = {}
          @filled_at = Clock.monotonic
          HeldFlights.with_all(@flown.values) do
            @leases.each { |call, lease| compute_one(call, lease) }
          end
          fill
        rescue StandardError => error
          @computed.each { |call, value| @flown[call].land_value(value) { call.copy(value) } }
          @open.each_key { |call| @flown[call].land_error(error) }
          raise
        ensure
          abandon(@open)
          leave
        end

        # Nothing more is computed: gives back the leases that were taken, and leaves the flights.
        #
        # @return [void]
        def leave
          @taken&.each_value { |answer| @held.release(answer) if answer.is_a?(Leases::Lease) } unless @open
          @flown.each_value { |flight| @flights.leave(flight) }
        end

        # No block can begin in time.
        #
        # @return [void]
        def abandon(leases = @leases)
          leases&.each do |call, lease|
            @held.release(lease, stale_ttl: call.stale_ttl)
            @flown[call].land(:abandoned)
          end
        end

        private

        # @return [Hash{String => Call}] by key, those that nobody in this process is at
        def board
          @calls.each_with_object({}) do |call, led|
            @flown[call] = own = Flight.new(@settings.backend, call.key, call.wanted)
            next @flown.delete(call) unless @flights.board(own, nil).equal?(own)
            led[call.key] = call
          end
        end

        # @return [Hash{String => Array(String, Object)}] bytes and token of what is no lease
        def shown_of(led)
          @useless.slice(*led.keys).filter_map do |key, found|
            [key, [found.bytes, found.token]] if found.token && @held.seen(key, found.bytes).nil?
          end.to_h
        end

        # Whether there is a value by now, or somebody else is at it; who waits for the flight looks anew.
        def settled?(call, answer)
          return false if answer.is_a?(Leases::Lease) && answer.mine? && !refreshed_behind?(call, answer)
          value = answer.is_a?(Leases::Present) ? call.value_of(answer.bytes) : @miss.call(call).served(answer)
          @values[call] = value unless MISS.equal?(value)
          @flights.leave(@flown.delete(call))
          true
        end

        def refreshed_behind?(call, lease)
          miss = @miss.call(call)
          miss.took_over if lease.takeover?
          return false unless @policy.background? && !MISS.equal?(miss.servable(lease)) && miss.refresh_behind(lease)
          @taken.delete(call.key)
          true
        end

        def compute_one(call, lease)
          @flown[call].learn(lease, running: true)
          @values[call] = @computed[call] = @flights.computing(@flown[call], lease.lineage) { call.compute }
          @flown[call].tags = call.used_tags
          fill if Clock.monotonic - @filled_at > @policy.lease_ttl / FILLS_PER_TTL
        rescue StandardError => error
          stale = @miss.call(call).stale_after(error, lease)
          raise if MISS.equal?(stale)
          @values[call] = stale
          @open.delete(call)
          @flown[call].land(:found, lease.stale)
        end

        # Stores what is computed, and lands its flights.
        def fill
          frames, ttl = frames_of(@computed)
          stored = @held.fill_multi(frames.to_h { |call, bytes| [@open[call], bytes] }, ttl) unless frames.empty?
          @computed.each do |call, value|
            lease = @open.delete(call)
            done = stored&.include?(call.key) || (frames[call] && overwrite(call, frames[call], ttl))
            @settings.account.wrote if done
            call.remember(done ? frames[call] : nil)
            give_back(call, lease) unless done
            @flown[call].land_value(value) { call.copy(value) }
          end
          @computed = {}
          @filled_at = Clock.monotonic
        end

        # @return [Array(Hash{Call => String}, Float)] what is to be stored, and its ttl
        def frames_of(values)
          writer = @settings.writer
          values = values.compact if @options[:skip_nil]
          frames = values.to_h { |call, value| [call, writer.frame(value, call.version, @options, @policy)] }
          [frames.compact, writer.fill_ttl(@options, @policy)]
        end

        def overwrite(call, bytes, ttl) = @flown[call].overwrite(@settings.guard, bytes, ttl)

        # Nothing is stored in its place.
        def give_back(call, lease)
          @settings.uncached.warn(call.key) if @flown[call].deleted
          @held.release(lease, stale_ttl: call.stale_ttl)
        end
      end
    end
  end
end
