# frozen_string_literal: true

require_relative "../../../clock"
require_relative "../databases"

module Tiercel
  module Store
    module Fetch
      class Flight
        # The waits of a {Flight}'s followers. A follower waits until the flight lands, unless the leader is stuck or
        # the wait would create a cycle.
        #
        # @private
        module Waiting
          # Interval in seconds between two checks of a waiting follower: whether its leader still makes progress, and
          # whether other threads need a database connection that the follower keeps.
          GIVING_WAY = 1.0
          private_constant :GIVING_WAY

          # Lets a follower run the block as well, if the previous caller takes too long. All followers receive the
          # first value.
          #
          # @param relief [Flight] the follower's own flight
          # @param after [Float] seconds after which a block takes too long
          # @return [Float, nil] the end of the wait, a time of {Clock.monotonic}; nil if the follower is to run its
          #   block
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

          # Waits until the flight lands.
          #
          # @param waiters [Array<Flight>] flights that cannot land before this one lands
          # @param deadline [Float] a time of {Clock.monotonic}
          # @param far_deadline [Float] the deadline while another process has the lease
          # @yieldparam lease [Leases::Lease] the leader's lease, each time it changes
          # @yieldreturn [Boolean] whether to end the wait
          # @return [Outcome, Symbol] or
          #
          #   - `:cycle`: the flight waits for one of the waiters; or its leader cannot continue while the caller waits;
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
