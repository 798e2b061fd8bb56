# frozen_string_literal: true

require_relative "../../../clock"
require_relative "../../../coder"
require_relative "../flight"
require_relative "../time_limit"

module Tiercel
  module Store
    module Fetch
      class Miss
        # A {Miss} with `timeout:`. Its block runs in a thread of its own, and each of its waits looks
        # up from when its {TimeLimit} is past. A call without a limit goes through here without a step more.
        #
        # @private
        module InTime
          private

          # @param lease [Leases::Lease, nil] whose lineage it may fill; nil for none
          def compute(flight, lease)
            return compute_here(flight, lease) unless @limit
            stale = fallback(lease)
            ends_at = @limit.ends_at(stale: !MISS.equal?(stale)) or return compute_here(flight, lease)
            value = compute_aside(flight, lease, ends_at)
            return late(stale) if TimedBlock::LEFT.equal?(value)
            @call.remember(nil)
            value
          end

          # Runs the block in another thread, which goes on when this call leaves, and then lands the flight.
          def compute_aside(flight, lease, ends_at)
            flight.behind = true
            timed = TimedBlock.start(ends_at) do
              compute_here(flight, lease)
            ensure
              @flights.leave(flight)
            end
            timed ? timed.wait(ends_at) : TimedBlock::LEFT
          ensure
            not_begun(flight, lease) unless timed
          end

          def not_begun(flight, lease)
            @leases.release(lease, stale_ttl: @call.stale_ttl) if lease
            flight.land(:abandoned)
            @flights.leave(flight)
          end

          # The time of this call is over.
          def late(stale)
            @statistics.count(:timeouts)
            @call.trace!.timeout = @limit.seconds(stale: !MISS.equal?(stale))
            raise @limit.error(@call.key) if MISS.equal?(stale)
            give_stale(stale)
          end

          # @return [Float] when this call has to look how much time it has
          def limited(deadline) = @limit ? @limit.before(deadline) : deadline

          # Something was waited for until a deadline or the limit of this call, whichever came first.
          #
          # @param deadline [Float] after which the block says what is done
          # @return [Object] AGAIN where neither is past
          def past_deadline(lease, deadline)
            return yield unless @limit
            stale = fallback(lease)
            return late(stale) if @limit.passed?(stale: !MISS.equal?(stale))
            deadline <= Clock.monotonic ? yield : AGAIN
          end

          # A caller that has not yet waited for `lease_wait`, nor reached its own limit, waits on.
          def after_waiting(flight, own)
            near = flight.running? || flight.lease.nil?
            result = past_deadline(flight.lease, near ? deadline : far_deadline) do
              relieve(flight, own, near ? patience : far_patience)
            end
            AGAIN.equal?(result) ? Following::ON : result
          end
        end
      end
    end
  end
end
