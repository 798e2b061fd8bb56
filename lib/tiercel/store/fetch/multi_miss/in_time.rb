# frozen_string_literal: true

require_relative "../../../coder"

module Tiercel
  module Store
    module Fetch
      class MultiMiss
        # What `timeout:` makes of a {MultiMiss}: its blocks run in one thread of their own, one after the other.
        #
        # @private
        module InTime
          private

          def compute_in_time(leases)
            return compute_all(leases) if @limit.nil? || leases.empty?
            stale = leases.to_h { |call, lease| [call, miss(call).fallback(lease)] }
            ends_at = @limit.ends_at(stale: stale.each_value.none?(MISS)) or return compute_all(leases)
            return late(stale) if TimedBlock::LEFT.equal?(compute_aside(leases, ends_at))
            leases.each_key { |call| call.remember(nil) }
          end

          # Runs the blocks in another thread, which goes on when this call leaves, and then lands the flights.
          def compute_aside(leases, ends_at)
            @behind = true
            timed = TimedBlock.start(ends_at) do
              compute_all(leases)
            ensure
              leave_all
            end
            timed ? timed.wait(ends_at) : TimedBlock::LEFT
          ensure
            not_begun(leases) unless timed
          end

          def not_begun(leases)
            leases.each do |call, lease|
              @leases.release(lease, stale_ttl: call.stale_ttl)
              @flown[call].land(:abandoned)
            end
            leave_all
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
                call.account!.timeout = @limit.seconds(stale: !MISS.equal?(value))
                raise @limit.error(call.key) if MISS.equal?(value)
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
