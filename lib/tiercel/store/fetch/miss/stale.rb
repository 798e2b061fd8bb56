# frozen_string_literal: true

require_relative "../../../coder"
require_relative "../../../reports"

module Tiercel
  module Store
    module Fetch
      class Miss
        # Expired values of a {Miss}: beside another caller's lease, or in the place of an error.
        #
        # @private
        module Stale
          # @param lease [Leases::Lease] of somebody else
          # @return [Object] the value that may be served meanwhile, or MISS
          def served(lease)
            give_stale(servable(lease))
          end

          # A value that the lease has beside it: one that plain reads see too, or one for `fetch` alone.
          #
          # @param lease [Leases::Lease]
          # @return [Object] or MISS
          def servable(lease)
            return MISS unless lease.stale
            value = lease.mine? ? MISS : @call.value_of(lease.stale)
            MISS.equal?(value) ? @call.stale_value_of(lease.stale, after_error: lease.paused?) : value
          end

          # @param lease [Leases::Lease, nil]
          # @return [Object] the value beside it that may be served where the block is late, or MISS
          def fallback(lease)
            return MISS unless lease&.stale
            value = @call.value_of(lease.stale)
            MISS.equal?(value) ? @call.stale_value_of(lease.stale, after_error: true) : value
          end

          # Within `stale_if_error`: the error is reported, and for a while nobody tries again.
          #
          # @param error [StandardError] that the block has raised
          # @param lease [Leases::Lease, nil] one's own
          # @return [Object] the value to give in its place, or MISS
          def stale_after(error, lease)
            return MISS unless lease&.stale
            stale = @call.stale_value_of(lease.stale, after_error: true)
            return MISS if MISS.equal?(stale) || !@call.error_covered?(lease.stale)
            @leases.release(lease, pause: PAUSE, stale_ttl: @call.stale_ttl)
            Reports.handled(error, key: @call.key)
            give_stale(stale)
          end

          # @param stale [Object] a value that has ended and is given, or MISS
          # @return [Object] the same
          def give_stale(stale)
            return stale if MISS.equal?(stale)
            @statistics.count(:stale_hits)
            @call.trace!.stale = true
            stale
          end

          private

          # Without another trip: what the caller's own read has found.
          def stale_at_hand
            return MISS if @seen.nil? || @seen.released? || @leases.lapsed?(@seen)
            served(@seen)
          end
        end
      end
    end
  end
end
