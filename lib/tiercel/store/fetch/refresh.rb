# frozen_string_literal: true

require_relative "../../clock"
require_relative "call"

module Tiercel
  module Store
    module Fetch
      # A `fetch` with `early_refresh:` that has found a value close to its expiry:
      #
      #   hit -> {Attempts#begin}: has another caller of this process tried lately? If so, the found value
      #          If not, {Fetcher#values_without_waiting}: the newer value, or else the found value
      #
      # Only the caller that acquires the lease computes. Its found value stays valid until the block returns a newer
      # one. So the caller returns the found value after an error, after `timeout:`, and after a nil with `skip_nil`.
      #
      # Without leases, processes would choose the refreshing caller at random: "Optimal Probabilistic Cache Stampede
      # Prevention" (Vattani, Chierichetti, Lowenstein; VLDB 2015). With a lease, a fixed share of the TTL is enough.
      #
      # @private
      class Refresh < Call
        # @param ends_at [Float, nil] epoch seconds
        # @param seconds [Float]
        # @return [Boolean] whether the value expires within this time
        def self.due?(ends_at, seconds) = !ends_at.nil? && ends_at - Clock.now < seconds

        # @return [Object] the value that the read has found
        attr_reader :value

        # @param value [Object] the value that the read has found
        # @param seconds [Float] time before the expiry in which a value is refreshed
        def initialize(*positional, value:, seconds:, **options, &)
          super(*positional, **options, &)
          @value = value
          @seconds = seconds
        end

        # @return [Boolean] whether no other caller of this process has tried lately
        def begin_refresh = @settings.early_refreshes.begin(@key, [@policy.lease_ttl, @seconds].min)

        # Does not replace an entry that was written concurrently.
        def verdict(bytes)
          entry = entry_of(bytes)
          return super if entry.nil? || entry.expired?
          entry.mismatched?(@version) || !Refresh.due?(entry.expires_at, @seconds) ? :current : bytes
        end

        def acquire(...)
          remember(nil)
          super
        end

        def begin_with(_lease)
          trace!.reason = :early
        end

        def compute_and_store(...)
          value, stored = super
          [value.nil? && @options[:skip_nil] ? @value : value, stored]
        ensure
          @settings.early_refreshes.forget(@key)
        end

        # For {PAUSE} seconds no caller tries again.
        def release(lease) = lease && @settings.leases.release(lease, pause: PAUSE, stale_ttl:)

        def optional? = true

        def stale_beside(_lease) = @value

        def stale_when_late(_lease) = @value

        def stale_value_of(*, **) = @value

        # The value has not expired, so no stale hit is counted.
        def serve_stale(value) = value

        # The lease keeps the found value at least until its expiry.
        def stale_ttl = super + @seconds

        private

        def error_covered?(*) = true
      end
    end
  end
end
