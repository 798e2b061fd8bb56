# frozen_string_literal: true

require_relative "../../../clock"
require_relative "../databases"

module Tiercel
  module Store
    module Fetch
      class Flight
        # Followers of a {Flight} wait until it lands, as long as its leader can go on, and never in a cycle.
        #
        # @private
        module Waiting
          # Seconds after which a follower looks again whether its leader goes on, and whether other threads wait for a
          # connection that the follower keeps.
          GIVING_WAY = 1.0
          private_constant :GIVING_WAY

          # Has a follower run the block too, if the one before takes too long. All followers receive the first value.
          #
          # @param relief [Flight] the follower's
          # @param after [Float] seconds
          # @return [Float, nil] of {Clock.monotonic}: the end of the wait; nil where the follower begins its block
          def relieve(relief, after)
            LOCK.synchronize do
              now = Clock.monotonic
              at = @outcome ? now : @since + after
              next at if @outcome || at > now
              @since = now
              @relief = relief
              relief.relieved = self
              nil
            end
          end

          # Waits for it to land.
          #
          # @param waiters [Array<Flight>] that cannot land before this one does
          # @param deadline [Float] of {Clock.monotonic}
          # @param far_deadline [Float] the same, while another process has the lease
          # @yieldparam lease [Leases::Lease] whenever more is known of it
          # @yieldreturn [Boolean] whether to wait no longer
          # @return [Outcome, Symbol] or
          #
          #   - `:cycle`: the flight waits for one of the waiters; or its leader cannot go on while the caller waits;
          #     or, after a while, other threads wait for a connection that this caller keeps
          #   - `:stalled`: for a while the leader has waited for another thread, which may be the caller
          #   - `:left`: the block returned true
          #   - `:deadline`
          def await(waiters, deadline, far_deadline)
            look_at = Clock.monotonic + GIVING_WAY
            keeps_a_connection = Databases.holding_a_connection?
            LOCK.synchronize do
              return :cycle if waits_for_any?(waiters) || stuck_behind_caller?
              @since ||= Clock.monotonic
              place = waits_for_a_thread_at
              followed_by(waiters) do
                until @outcome || desert
                  if @lease && block_given?
                    return :left if yield @lease
                  end
                  left = (@running || @lease.nil? ? deadline : far_deadline) - Clock.monotonic
                  return :deadline if left <= 0
                  if look_at <= Clock.monotonic
                    return :cycle if keeps_a_connection && Databases.starving_others?
                    return :stalled if place == (place = waits_for_a_thread_at) && place
                    look_at += GIVING_WAY
                  end
                  (@landed ||= ConditionVariable.new).wait(LOCK, [left, GIVING_WAY].min)
                end
              end
              @outcome
            end
          end

          protected

          attr_writer :relieved

          def waits_for_a_thread_at
            return @relief.waits_for_a_thread_at if @relief&.live?
            @leader.waits_for_a_thread_at if @running && @outcome.nil?
          end

          def waits_for = @waits_for ||= []

          def stuck_behind_caller? = @outcome.nil? && @leader.stuck_behind_caller?

          def followed_by(waiters)
            @followers += 1
            waiters.each { |flight| flight.waits_for << self }
            yield
          ensure
            waiters.each do |flight|
              waits = flight.waits_for
              at = waits.index { |other| other.equal?(self) }
              waits.delete_at(at) if at
            end
          end

          def waits_for_any?(flights, seen = [])
            return true if flights.any? { |flight| flight.equal?(self) }
            return false if seen.include?(self)
            seen << self
            [*waits_for, *@relief].any? { |flight| flight.waits_for_any?(flights, seen) }
          end
        end
      end
    end
  end
end
