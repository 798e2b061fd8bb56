# frozen_string_literal: true

require_relative "../../coder"
require_relative "../../deep_freeze"
require_relative "../../reports"
require_relative "../writer"

module Tiercel
  module Store
    module Fetch
      # Expired values of a {Call}: returned while another caller computes, or in the place of an error.
      #
      # @private
      module Stale
        MISS = Coder::MISS
        # Seconds for which no caller tries again after a block that raised, where there is a stale value to return.
        PAUSE = 5.0

        # Uses the result of the caller's own read, so no trip is needed.
        #
        # @return [Object] the value beside the lease that the read has found, or MISS
        def stale_at_hand
          return MISS if @seen.nil? || @seen.released? || @settings.leases.lapsed?(@seen)
          serve_stale(stale_beside(@seen))
        end

        # A value that the lease keeps beside it: one that plain reads return too, or one for `fetch` alone.
        #
        # @param lease [Leases::Lease]
        # @return [Object] or MISS
        def stale_beside(lease)
          return MISS unless lease.stale
          value = lease.mine? ? MISS : value_of(lease.stale)
          MISS.equal?(value) ? stale_value_of(lease.stale, after_error: lease.paused?) : value
        end

        # @param lease [Leases::Lease, nil]
        # @return [Object] the value that this call may return when its block exceeds `timeout:`, or MISS
        def stale_when_late(lease)
          return MISS unless lease&.stale
          value = value_of(lease.stale)
          MISS.equal?(value) ? stale_value_of(lease.stale, after_error: true) : value
        end

        # Within `stale_if_error`, the error is reported, and for {PAUSE} nobody tries again.
        #
        # @param error [StandardError] that the block has raised
        # @param lease [Leases::Lease, nil] this call's own
        # @return [Object] the value to return in its place, or MISS
        def stale_after(error, lease)
          return MISS unless lease&.stale
          stale = stale_value_of(lease.stale, after_error: true)
          return MISS if MISS.equal?(stale) || !error_covered?(lease.stale)
          @settings.leases.release(lease, pause: PAUSE, stale_ttl:)
          Reports.handled(error, key: @key)
          serve_stale(stale)
        end

        # @param limit [TimeLimit] that is over
        # @param stale [Object] the value to return, or MISS
        # @return [Object] that value
        # @raise [FetchTimeout] where there is none
        def time_out(limit, stale)
          trace!.timeout = limit.seconds(stale: !MISS.equal?(stale))
          raise limit.error(@key) if MISS.equal?(stale)
          serve_stale(stale)
        end

        # @param stale [Object] an expired value that the caller receives, or MISS
        # @return [Object] the same
        def serve_stale(stale)
          return stale if MISS.equal?(stale)
          @settings.account.count(:stale_hits)
          trace!.stale = true
          stale
        end

        # @param bytes [String, nil]
        # @param after_error [Boolean] whether a block has raised
        # @return [Object] the value, if it has expired and may be returned all the same; else MISS
        def stale_value_of(bytes, after_error: false)
          entry = entry_of(bytes) or return MISS
          return MISS unless entry.is_a?(Coder::LazyEntry) && usable_stale?(entry, after_error)
          return MISS if entry.mismatched?(@version) || outdated?(entry)
          DeepFreeze.call(entry.value) if @settings.frozen_values
          entry.value
        rescue ActiveSupport::Cache::DeserializationError
          MISS
        end

        # @return [Float] seconds for which a released lease keeps its stale value
        def stale_ttl = Writer::RACE_CONDITION_GRACE + (@policy.stale_seconds || 0)

        private

        # @param bytes [String] of an expired value
        # @return [Boolean] whether it may be returned in the place of an error
        def error_covered?(bytes)
          entry = entry_of(bytes)
          entry.is_a?(Coder::LazyEntry) && (entry.frame.parts.stale&.last || 0) > Clock.now
        end

        def usable_stale?(entry, after_error)
          revalidate_until, error_until = entry.frame.parts.stale
          return false unless revalidate_until
          (after_error ? [revalidate_until, error_until].max : revalidate_until) > Clock.now
        end
      end
    end
  end
end
