# frozen_string_literal: true

require_relative "../../clock"
require_relative "attempts"
require_relative "call"
require_relative "miss"

module Tiercel
  module Store
    module Fetch
      # `fetch` has found a value that expires soon, and `early_refresh:` is set:
      #
      #   hit -> {Attempts#begin}: has somebody of this process tried? yes: the value
      #          no: {Leases#take}, which waits for none -> the block -> {Leases#fill}
      #
      # Only who has taken the lease refreshes; all others have the value that is there, and so does the one whose block
      # raises, is late (`timeout:`) or runs in the background.
      #
      # Where no lease says who refreshes, processes leave it to chance: "Optimal Probabilistic Cache Stampede
      # Prevention" (Vattani, Chierichetti, Lowenstein; VLDB 2015). With a lease a share of the TTL is enough.
      #
      # @private
      class EarlyRefresh < Miss
        # One call of `fetch` that has hit.
        #
        # @private
        class Hit < Call
          # @return [Float] before its end, in which a value is refreshed
          attr_reader :seconds

          # @param value [Object] that the read has given
          # @param seconds [Float] see {#seconds}
          def initialize(*positional, value:, seconds:, **options, &)
            super(*positional, **options, &)
            @value = value
            @seconds = seconds
          end

          # Leaves an entry alone that was written concurrently.
          def verdict(bytes)
            entry = entry_of(bytes)
            return super if entry.nil? || entry.expired?
            entry.mismatched?(@version) || !EarlyRefresh.due?(entry.expires_at, @seconds) ? :current : bytes
          end

          # The value is good, whatever becomes of the block.
          def stale_value_of(*, **) = @value

          def error_covered?(*) = true

          # The lease has the value beside it, which is not to go before its time.
          def stale_ttl = super + @seconds
        end

        # @param ends_at [Float, nil] epoch seconds
        # @param seconds [Float]
        # @return [Boolean] whether it is within so many seconds
        def self.due?(ends_at, seconds) = !ends_at.nil? && ends_at - Clock.now < seconds

        # @param settings [Settings]
        # @param hit [Hit]
        # @param value [Object] that the read has given
        def initialize(settings, hit, value)
          super(settings, hit)
          @attempts = settings.early_refreshes
          @value = value
        end

        # @return [Object] the block's value where this call refreshes and waits for it; else the one that is there
        def value
          return @value unless @attempts.begin(@call.key, [@call.policy.lease_ttl, @call.seconds].min)
          lease = take
          @call.remember(nil)
          return @value unless lease.is_a?(Leases::Lease) && lease.mine? && lease.sure?
          @statistics.count(:early_refreshes)
          @call.trace!.reason = :early
          return compute(new_flight, lease) unless @call.policy.background?
          give_back(lease) unless refresh_behind(lease)
          @value
        end

        # The value that it has is good.
        def give_stale(value) = value

        private

        # Where the block gives what `skip_nil` leaves out, the value that is there is still good.
        def compute_here(*)
          value = super
          value.nil? && @call.options[:skip_nil] ? @value : value
        ensure
          @attempts.forget(@call.key)
        end

        # For a while nobody tries again.
        def give_back(lease) = @leases.release(lease, pause: PAUSE, stale_ttl: @call.stale_ttl)
      end
    end
  end
end
