# frozen_string_literal: true

require_relative "../../../coder"

module Tiercel
  module Store
    module Fetch
      class MultiMiss
        # A {MultiMiss} with `timeout:`. Its blocks run in one thread of their own, one after the other.
        #
        # @private
        module InTime
          private

          def compute_in_time(calls)
            round = round_of(calls)
            round.take
            stale = round.leases.to_h { |call, lease| [call, miss(call).fallback(lease)] }
            ends_at = @limit.ends_at(stale: stale.each_value.none?(Coder::MISS)) unless stale.empty?
            answer = ends_at ? compute_aside(round, ends_at) : round.compute
            @values = round.values
            return late(stale) if TimedBlock::LEFT.equal?(answer)
            stale.each_key { |call| call.remember(nil) } if ends_at
          ensure
            round&.leave unless @behind
          end

          # Runs the blocks in another thread, which goes on when this call leaves, and then lands the flights.
          def compute_aside(round, ends_at)
            @behind = true
            timed = TimedBlock.start(ends_at) { round.compute }
            timed ? timed.wait(ends_at) : TimedBlock::LEFT
          ensure
            unless timed
              round.abandon
              round.leave
            end
          end

          # The time of this call is over: what is computed by now, and what has ended in the place of the rest. What
          # the other thread has still to store is copied.
          def late(stale)
            @settings.statistics.count(:timeouts)
            done = @values.dup
            stale.each do |call, value|
              if done.key?(call)
                frame = call.copy(done[call])
                done[call] = call.value_of_copy(frame) if frame
              else
                call.trace!.timeout = @limit.seconds(stale: !Coder::MISS.equal?(value))
                raise @limit.error(call.key) if Coder::MISS.equal?(value)
                done[call] = miss(call).give_stale(value)
              end
            end
            @values = done
          end
        end
      end
    end
  end
end
