# frozen_string_literal: true

require_relative "../backend"
require_relative "coverage"

module Tiercel
  class Tiers < Backend
    # The coverage of a segment as a process without a bus of its own respects it (`bus=false`, or a Redis user that may
    # not track). Other processes of the machine may have a bus, and leave copies that live 60 seconds: these are good
    # only as long as somebody covers them.
    #
    # - As long as nobody has ever covered the segment, copies are read until they expire, which is soon.
    # - Once somebody has, copies are read only while they are covered.
    # - When the last process with a bus has ended, the first miss puts all copies away, and nobody covers the segment.
    #
    # @private
    class RecordedCoverage
      # The processes with a bus have ended, if none of them has covered the segment for so long.
      LAPSE_NS = 10 * Coverage::NANOSECONDS

      # @param segment [Segment, Segment::Absent]
      def initialize(segment)
        @segment = segment
        respect if segment.is_a?(Segment) # else the first call says why there is none
      end

      # Before a copy is filled.
      #
      # @return [true]
      # @raise [BackendError] if there is no segment
      def respect
        @armed ||= @segment.near_trust_recorded = Coverage::TRUST_SECONDS
        covered = @segment.near_covered
        @segment.near_uncover(covered) if covered.positive? && now - covered > LAPSE_NS
        true
      end

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    end
  end
end
