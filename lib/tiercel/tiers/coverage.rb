# frozen_string_literal: true

module Tiercel
  class Tiers < Backend
    # The time until which a near tier has received every change of the last tier. For {#trust} seconds after that time,
    # reads use its copies. Later, every near read is a miss, and no copy is made.
    #
    # The segment records the time, so that every process benefits from the listeners of the other processes. Times are
    # nanoseconds of the machine's monotonic clock.
    #
    # A process without a bus (`bus=false`, or a Redis user that may not track) has a *recorded* coverage. As long as no
    # process has covered the segment, a process without a bus reads copies until they expire. Once a process has
    # covered the segment, reads use copies only while the coverage lasts. After the last process with a bus has exited,
    # the next miss deletes all copies.
    class Coverage
      # Seconds for which copies are trusted after the time until which they are covered.
      TRUST_SECONDS = 3.0
      # Nanoseconds of a second.
      NANOSECONDS = 1_000_000_000
      # If no process has covered the segment for this long, no process with a bus is left.
      LAPSE_NS = 10 * NANOSECONDS
      MONOTONIC = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) }
      private_constant :LAPSE_NS, :MONOTONIC

      # @return [Float] seconds
      attr_reader :trust
      # @return [Segment]
      attr_reader :segment

      # @param segment [Segment, Segment::Absent] the handle through which copies are read and filled
      # @param trust [Numeric] seconds
      # @param recorded [Boolean] whether other processes alone cover the segment
      # @param clock [#call] gives nanoseconds of the monotonic clock, for tests; the segment's reads use the system's
      def initialize(segment, trust: TRUST_SECONDS, recorded: false, clock: MONOTONIC)
        @segment = segment
        @trust = trust.to_f
        @recorded = recorded
        @clock = clock
        arm if @segment.is_a?(Segment) # otherwise the first call reports why there is no segment
      end

      # @return [Integer] nanoseconds
      def now = @clock.call

      # @param seconds [Numeric]
      def trust=(seconds)
        @trust = seconds.to_f
        @segment.near_trust = @trust if @armed
      end

      # Makes the segment's reads depend on the coverage. A caller that fills a copy arms first, since the segment may
      # not have existed before.
      #
      # @return [true]
      # @raise [BackendError] if there is no segment
      def arm
        @armed ||= @recorded ? @segment.near_trust_recorded = @trust : @segment.near_trust = @trust
        uncover if @recorded
        true
      end

      # A bus of this process covers the segment from now on.
      #
      # @return [true]
      # @raise [BackendError] if there is no segment
      def own
        @armed = @recorded = false
        arm
      end

      # Deletes all copies. From now on the segment's reads do not depend on the coverage of this process.
      #
      # @param recorded [Boolean] whether they depend on the coverage by other processes
      # @return [void]
      # @raise [BackendError]
      def disarm(recorded: false)
        @recorded = recorded # first: another thread may arm
        @segment.near_clear
        @segment.near_trust = nil
        @armed = false
        arm if recorded
      end

      # A listener calls this once it has received every change between `since` and `sent`, and has deleted the
      # copies of the changed keys through this segment.
      #
      # @param since [Integer] nanoseconds: when the listener began
      # @param sent [Integer] nanoseconds: when it sent the query that the last tier has answered
      # @param server [Integer] the server's number
      # @return [Boolean, nil] true: the copies are valid; false: all copies were deleted, because the time before
      #   `since` was not covered, or another server covered it; nil: no effect, because `sent` is before `since`, or
      #   before this process opened the segment
      # @raise [BackendError] if there is no segment
      def cover(since, sent, server = 0) = arm && @segment.near_cover(since, sent, server)

      # @return [Integer] nanoseconds: every change before is known; 0 for never
      def covered = @segment.near_covered

      # @return [Boolean] whether other processes use the segment, and may have listeners
      def shared? = !@segment.path.nil? && @segment.pids.size > 1

      # @param seconds [Numeric] added to the trust
      # @return [Boolean] whether copies are read at present
      def trusted?(seconds = 0) = (covered = self.covered).positive? && lately?(covered, seconds)

      # @param time [Integer] nanoseconds
      # @param seconds [Numeric] added to the trust
      # @return [Boolean] whether copies that were good at that time are still trusted
      def lately?(time, seconds = 0) = (now - time).between?(0, (trust + seconds) * NANOSECONDS)

      # @return [Hash{Symbol => Object}] :trusted; :covered_for, seconds for which copies stay trusted without a further
      #   message; :gaps, how often all copies were deleted because no listener had covered them
      def stats
        left = covered.zero? ? 0.0 : @trust - ((now - covered) / NANOSECONDS.to_f)
        { trusted: left.positive?, covered_for: [left, 0.0].max, gaps: @segment.near_gaps }
      end

      private

      def uncover
        covered = self.covered
        @segment.near_uncover(covered) if covered.positive? && now - covered > LAPSE_NS
      end
    end
  end
end
