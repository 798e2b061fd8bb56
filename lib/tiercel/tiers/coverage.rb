# frozen_string_literal: true

require_relative "../backend"

module Tiercel
  class Tiers < Backend
    # Until when a near tier has heard of every change that was made behind it. Its copies are trusted for so long after
    # that time: past it every read of them is a miss, and nothing is filled.
    #
    # Whether it is covered is kept in the segment, so all processes that share it know of what each of them has heard.
    # Times are nanoseconds of the machine's monotonic clock, which is one for all of them.
    #
    #   coverage = Tiercel::Tiers::Coverage.new(segment)
    #   since = coverage.now             # from here on this process hears of every change, and puts the copies away
    #   sent = coverage.now              # the tier behind is asked something, and answers on the same connection
    #   coverage.cover(since, sent)      # => false: nobody covered the time before, all copies were put away
    #   coverage.trusted?                # => true
    class Coverage
      # Seconds for which copies are trusted after the time until which they are covered.
      TRUST_SECONDS = 3.0
      # In a second.
      NANOSECONDS = 1_000_000_000
      MONOTONIC = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) }
      private_constant :MONOTONIC

      # @return [Float] seconds
      attr_reader :trust
      # @return [Segment]
      attr_reader :segment

      # @param segment [Segment, Segment::Absent] the handle through which copies are read and filled
      # @param trust [Numeric] seconds
      # @param clock [#call] gives nanoseconds of the monotonic clock, for tests. (A read of the segment asks the
      #   system's own.)
      def initialize(segment, trust: TRUST_SECONDS, clock: MONOTONIC)
        @segment = segment
        @trust = trust.to_f
        @clock = clock
        arm if @segment.is_a?(Segment) # else the first call says why there is none
      end

      # @return [Integer] nanoseconds
      def now = @clock.call

      # @param seconds [Numeric]
      def trust=(seconds)
        @trust = seconds.to_f
        @segment.near_trust = @trust if @armed
      end

      # Has reads through the segment ask whether it is covered. Where there is no segment at present, this is to be
      # called again before a copy is filled.
      #
      # @return [true]
      # @raise [BackendError] where there is no segment
      def arm
        return true if @armed
        @segment.near_trust = @trust
        @armed = true
      end

      # From now on copies are read whether it is covered or not. Those that are there are put away first.
      #
      # @return [void]
      # @raise [BackendError]
      def disarm
        @segment.near_clear
        @segment.near_trust = nil
        @armed = false
      end

      # A listener heard of every change that was made behind from `since`, when it began, until `sent`, and has put the
      # copies of all of these away, through this segment.
      #
      # @param since [Integer] nanoseconds
      # @param sent [Integer] nanoseconds: when the tier behind was asked something that it has answered since
      # @param server [Integer] which one it was
      # @return [Boolean, nil] true: the copies are good; false: there was a gap before `since`, or another server, so
      #   all copies were put away; nil: it says nothing, since `sent` is before `since`, or before this process' move
      #   to a new segment
      # @raise [BackendError] where there is no segment
      def cover(since, sent, server = 0) = arm && @segment.near_cover(since, sent, server)

      # @return [Integer] nanoseconds: all that was changed before is known of; 0 for never
      def covered = @segment.near_covered

      # @return [Boolean] whether other processes use the segment, and may have listeners
      def shared? = !@segment.path.nil? && @segment.pids.size > 1

      # @param seconds [Numeric] so much longer
      # @return [Boolean] whether copies are read at present
      def trusted?(seconds = 0) = (covered = self.covered).positive? && lately?(covered, seconds)

      # @param time [Integer] nanoseconds
      # @param seconds [Numeric]
      # @return [Boolean] whether what was as it should be at that time may be read at present
      def lately?(time, seconds = 0) = (now - time).between?(0, (trust + seconds) * NANOSECONDS)

      # @return [Hash{Symbol => Object}] :trusted; :covered_for, seconds for which copies are trusted if nothing more is
      #   heard; :gaps, how often all of them were put away since nobody had covered them
      def stats
        left = covered.zero? ? 0.0 : @trust - ((now - covered) / NANOSECONDS.to_f)
        { trusted: left.positive?, covered_for: [left, 0.0].max, gaps: @segment.near_gaps }
      end
    end
  end
end
