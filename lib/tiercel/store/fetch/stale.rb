# frozen_string_literal: true

require_relative "../../coder"
require_relative "../../deep_freeze"
require_relative "../../reports"
require_relative "../writer"

module Tiercel
  module Store
    module Fetch
      # The expired values of a {Call}. A call returns one while another caller computes, or instead of an error.
      #
      # @private
      module Stale
        MISS = Coder::MISS
        # After a block has raised and a stale value was returned, no caller runs the block again for this many seconds.
        PAUSE = 5.0

        # Uses the result of the caller's own read, so no trip is needed.
        #
        # @return [Object] the stale value of the lease that the read has found, or MISS
        def stale_at_hand
          return MISS if @seen.nil? || @seen.released? || @settings.leases.lapsed?(@seen)
          serve_stale(stale_beside(@seen))
        end

        # Returns the lease's stale value: either plain reads return it too, or only `fetch` does.
        #
        # @param lease [Leases::Lease]
        # @return [Object] the value, or MISS
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

        # Returns a stale value after an error of the block, within `stale_if_error`. Reports the error. For {PAUSE}
        # seconds no caller runs the block again.
        #
        # @param error [StandardError] the block's error
        # @param lease [Leases::Lease, nil] this call's lease
        # @return [Object] the value to return instead, or MISS
        def stale_after(error, lease)
          return MISS unless lease&.stale
          stale = stale_value_of(lease.stale, after_error: true)
          return MISS if MISS.equal?(stale) || !error_covered?(lease.stale)
          @settings.leases.release(lease, pause: PAUSE, stale_ttl:)
          Reports.handled(error, key: @key)
          serve_stale(stale)
        end

        # @param limit [TimeLimit] the limit that is over
        # @param stale [Object] the value to return, or MISS
        # @return [Object] the stale value
        # @raise [FetchTimeout] if there is no stale value
        def time_out(limit, stale)
          trace!.timeout = limit.seconds(stale: !MISS.equal?(stale))
          raise limit.error(@key) if MISS.equal?(stale)
          serve_stale(stale)
        end

        # @param stale [Object] an expired value that the caller receives, or MISS
        # @return [Object] the argument
        def serve_stale(stale)
          return stale if MISS.equal?(stale)
          trace!.stale = true
          stale
        end

        # @param bytes [String, nil]
        # @param after_error [Boolean] whether a block has raised
        # @return [Object] the expired value, if the call may return it; else MISS
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

        # @param bytes [String] an expired value's bytes
        # @return [Boolean] whether the value may be returned instead of an error
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
