# frozen_string_literal: true

require_relative "../flight"

module Tiercel
  module Store
    module Fetch
      class Miss
        # A {Miss} that meets a lease for another version, or for other tags: a record was changed while its
        # fragment is rendered, or tags were invalidated. The lease gives way, so the newer value is stored. Versions
        # have no order, so each displaces others once in a while ({Displacements}). Afterwards its callers compute
        # beside the lease, once for all of this process, and store nothing.
        #
        # @private
        module Displacing
          private

          # @param lease [Leases::Lease] of somebody else, for another version
          def displace(flight, lease)
            return AGAIN if @call.renew_tags
            return compute_beside(flight, lease) unless may_displace?(flight)
            answer = take(displaces: lease.lineage)
            return found(flight, answer.bytes) if answer.is_a?(Leases::Present)
            return join(flight, answer) unless answer.mine?
            begin_displaced(flight, answer)
          end

          # A thread that is killed before the block begins gives the lease back.
          def begin_displaced(flight, lease)
            begin_with(flight, lease)
          ensure
            @leases.release(lease, stale_ttl: @call.stale_ttl) unless @begun
          end

          # A version whose block still runs here was displaced itself.
          def may_displace?(flight) = !@flights.computing?(flight) && @displacements.begin(@call)

          def compute_beside(flight, lease)
            flight.beside = lease
            @late = false # the take has shown whose lease stands
            other = @flights.beside(flight, lease.lineage)
            other ? follow(other, flight) : compute(flight, nil)
          end
        end
      end
    end
  end
end
