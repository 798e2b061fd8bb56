# frozen_string_literal: true

require_relative "../../../clock"
require_relative "../databases"

module Tiercel
  module Store
    module Fetch
      class Flight
        # How followers wait for a {Flight}: until it lands, while its leader can go on, and without a cycle.
        #
        # @private
        module Waiting
          # Seconds between two looks of a follower: at its leader, and whether others wait for what the follower keeps.
          GIVING_WAY = 1.0
          private_constant :GIVING_WAY

          # Lets a follower run the block, too, if the one before takes too long. All who wait receive the first value.
          #
          # @param relief [Flight] the follower's
          # @param after [Float] seconds
          # @return [Float, nil] of {Clock.monotonic}: until when to wait; nil where the follower is to begin
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
          # @return [Outcome, Symbol] `:cycle` at once where one of the waiters is what this one waits for, or the
          #   leader cannot go on while the caller waits, and after a while where others, as the block may, wait for a
          #   connection that this caller keeps; `:stalled` where the leader waits for another thread, which may be the
          #   caller, and nothing happens for a while; `:deadline`; `:left` where the block said so
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
