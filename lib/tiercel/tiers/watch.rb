# frozen_string_literal: true

require_relative "../backend"
require_relative "../clock"
require_relative "../errors"
require_relative "../forks"
require_relative "coverage"

module Tiercel
  class Tiers < Backend
    # Whether others change the file behind a near segment: programs that use the file alone, and other segments
    # (containers, two releases during a deploy). All of them register in the file before they change it, and whoever
    # reads behind looks there once a second at most. So no thread and no bus is needed:
    #
    # - Nobody else since the time that is covered: it is covered until now ({Coverage}), and copies live long.
    # - Somebody else: all copies are put away, and from then on copies live a second.
    #
    # @private
    class Watch
      # The TTL of copies, where nobody else changes the file.
      ALONE_TTL_SECONDS = 60.0
      TTL_SECONDS = 1.0
      INTERVAL_NS = 1_000_000_000
      # For so long processes of this segment may not have noticed somebody else yet: what they fill is put away.
      NOTICING_NS = 3 * INTERVAL_NS
      # Longer than that nobody of the machine has looked.
      LAPSE_NS = 2 * INTERVAL_NS
      # That a change may take after its registration was looked at: a large one, or of a process that is stopped.
      SLACK_SECONDS = 10.0

      # @param last [Backends::SQLite]
      # @param near [Near] with a {Coverage}
      def initialize(last, near)
        @last = last
        @near = near
        @coverage = near.coverage
        @lock = Mutex.new
        @began_ns = @coverage.now
        near.cap = ALONE_TTL_SECONDS
        name_member if near.backend.segment.is_a?(Segment) # else the first call says why there is none
      end

      # Sees to it that copies are trusted, if they may be. Nobody waits for another thread here.
      #
      # @return [false] nobody is told of what others change: who asks finds out
      def listen
        checked_ns = @checked_ns
        return false if checked_ns && @coverage.now - checked_ns < INTERVAL_NS
        return false unless @lock.try_lock
        begin
          check
        ensure
          @lock.unlock
        end
        false
      rescue BackendError
        false # the file or the segment does not answer: what is covered stays so for the time of {Coverage#trust}
      end

      # Writes before the first read leave their copies, too.
      #
      # @return [void]
      def before_change = listen

      # The file is the file.
      def before_fill = nil
      def fill?(_seen) = true

      def close = nil

      # @return [Hash{Symbol => Object}] :alone, whether nobody else has changed the file lately
      def stats = { alone: !@checked_ns.nil? && @noticed_ns.nil? }

      private

      def check
        name_member
        covered_ns = @coverage.covered
        now_ns = @coverage.now
        @checked_ns = now_ns
        opened, others = @last.others_since(wall(covered_ns.zero? ? now_ns : covered_ns, now_ns) - SLACK_SECONDS)
        moved = moved?(opened, now_ns)
        others ? with_others(covered_ns, now_ns, moved) : alone(covered_ns, now_ns, moved)
      end

      # Whether all copies are to go. Processes that have not looked yet may go on to fill what the former file had, so
      # they go again until all have.
      def moved?(opened, now_ns)
        @moved_ns = now_ns if another?(opened)
        return false unless (moved_ns = @moved_ns)
        @moved_ns = nil if now_ns - moved_ns >= LAPSE_NS
        true
      end

      # Whether the file was opened anew: then it may be another one, though its inode may have the same number.
      def another?(opened)
        before = @opened if Forks.current?(@process)
        @process = Forks.current
        @opened = opened
        !before.nil? && !before.equal?(opened)
      end

      # This process' changes are the segment's.
      def name_member
        @last.member_name = "near:#{@near.backend.segment.file_id}"
      rescue BackendError
        nil
      end

      def wall(ns, now_ns) = Clock.now - ((now_ns - ns) / 1e9)

      def alone(covered_ns, now_ns, moved)
        @noticed_ns = nil
        @near.cap = ALONE_TTL_SECONDS
        # A process that begins puts nothing away while others of its machine cover.
        return if !moved && covered_ns.positive? && covered_ns < @began_ns && now_ns - covered_ns < LAPSE_NS
        @coverage.cover(moved || covered_ns.zero? ? now_ns : covered_ns, now_ns)
      end

      def with_others(covered_ns, now_ns, moved)
        @noticed_ns ||= now_ns
        @near.cap = TTL_SECONDS
        anew = moved || covered_ns.zero? || now_ns - @noticed_ns < NOTICING_NS || now_ns - covered_ns > LAPSE_NS
        @coverage.cover(anew ? now_ns : covered_ns, now_ns)
      end
    end
  end
end
