# frozen_string_literal: true

require_relative "../../../coder"
require_relative "../flight"

module Tiercel
  module Store
    module Fetch
      class Miss
        # How a {Miss} waits for another flight of its process, and what it makes of what that one lands with.
        #
        # @private
        module Following
          # The follower goes on waiting.
          ON = Object.new.freeze

          private

          # @param flight [Flight] that somebody else leads
          # @param own [Flight, nil] that the caller leads, and lands as that one lands
          def follow(flight, own = nil)
            loop do
              result = follow_for_a_while(flight, own)
              return result unless ON.equal?(result)
            end
          end

          # A late caller reads anew, because the leader's take may have met an older state.
          def follow_for_a_while(flight, own)
            stale = MISS
            outcome = @call.trace!.waiting do
              flight.await([*@held, *own], limited(deadline), limited(far_deadline)) do |lease|
                !MISS.equal?(stale = servable(lease)) || (@late && flight.borrowed)
              end
            end
            case outcome
            when :left
              MISS.equal?(stale) || (@late && flight.lease.stale != @call.found) ? AGAIN : give_stale(stale)
            when :cycle then compute(own || new_flight, flight.lease_to_fill)
            when :deadline then after_waiting(flight, own)
            when :stalled then relieve(flight, own, NESTED_WAIT)
            else share(outcome, flight, own)
            end
          end

          def share(outcome, flight, own)
            return AGAIN if @late && (flight.borrowed || outcome.kind == :found)
            return abandoned(flight) unless @call.accepts?(flight.tags)
            content = outcome.content
            own&.tags = flight.tags
            own&.land(outcome.kind, content) unless outcome.kind == :gone
            case outcome.kind
            when :frame then @call.value_of_copy(content)
            when :found then shared_bytes(content)
            when :value then content
            when :error then raise content.dup
            when :abandoned then abandoned(flight)
            when :gone then own ? compute(own, flight.lease_to_fill) : AGAIN
            else AGAIN
            end
          end

          def shared_bytes(bytes)
            value = @call.value_of(bytes)
            value = give_stale(@call.stale_value_of(bytes, after_error: true)) if MISS.equal?(value)
            MISS.equal?(value) ? AGAIN : value
          end

          # One caller of this process at a time runs the block beside one that takes too long.
          #
          # @param after [Float] seconds that such a block is given
          def relieve(flight, own, after)
            relief = own || new_flight
            again_at = Databases.in_transaction? ? nil : flight.relieve(relief, after)
            return compute(relief, flight.lease_to_fill) unless again_at
            @deadline = [deadline, again_at].max
            @far_deadline = [far_deadline, again_at].max
            ON
          end

          # Somebody takes over; whoever is let down twice waits no more.
          def abandoned(flight)
            @let_down += 1
            @let_down > 1 ? compute(new_flight, flight.lease_to_fill) : AGAIN
          end
        end
      end
    end
  end
end
