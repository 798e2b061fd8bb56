# frozen_string_literal: true

# Detects changes of a SQLite file from outside a near segment: by programs without near copies, and by other
# segments (containers, two releases during a deploy). Each process registers in the file before it changes the
# file. A process with a near miss checks the file at most once a second, so no thread and no bus is needed:
#
# - If no other process has registered since the covered time, the segment is covered until now ({Coverage}), and
#   copies live long.
# - If another process has registered, all copies are deleted, and later copies live a second.
#
# @private
class Tiercel::Tiers::Watch
  # The TTL of copies while this machine alone changes the file.
  ALONE_TTL_SECONDS = 60.0
  TTL_SECONDS = 1.0
  INTERVAL_NS = 1_000_000_000
  # Every process of the segment notices another program within this time. Until then all copies are deleted again
  # and again.
  NOTICING_NS = 3 * INTERVAL_NS
  # If the covered time is older than this, no process of the machine has checked the file lately.
  LAPSE_NS = 2 * INTERVAL_NS
  # A large change, or a change by a stopped process, may complete this long after its registration.
  SLACK_SECONDS = 10.0

  # @param last [Backends::SQLite]
  # @param near [Near] a near tier with a {Coverage}
  def initialize(last, near)
    @last = last
    @near = near
    @coverage = near.coverage
    @lock = Mutex.new
    near.cap = ALONE_TTL_SECONDS
    name_member if near.backend.segment.is_a?(Tiercel::Segment) # otherwise the first call reports why there is none
  end

  # Covers the near tier if it may be trusted. Never waits for another thread.
  #
  # @return [false] this process receives no messages about changes
  def listen
    checked_ns = @checked_ns
    return false if (checked_ns && @coverage.now - checked_ns < INTERVAL_NS) || !@lock.try_lock
    begin
      check
    ensure
      @lock.unlock
    end
    false
  rescue Tiercel::BackendError
    false # the file or the segment does not answer: copies stay trusted for {Coverage#trust} at most
  end

  # @return [Boolean] whether the last tier sends a message about each change
  def messages? = false

  # A write before the first read leaves a copy, too.
  #
  # @return [void]
  def before_change = listen

  # Every connection leads to the same file.
  def before_fill = nil
  def fill?(_seen) = true

  def close = nil

  # @return [Hash{Symbol => Object}] :alone, whether only this segment has changed the file, as of the last check
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

  # Returns whether to delete all copies because another file may be at the path. Other processes may make copies of
  # the former file's entries until their next check. So the copies are deleted repeatedly until every process has
  # checked.
  def moved?(opened, now_ns)
    @moved_ns = now_ns if another?(opened)
    return false unless (moved_ns = @moved_ns)
    @moved_ns = nil if now_ns - moved_ns >= LAPSE_NS
    true
  end

  # Returns whether the file was opened again. A reopened file may be another file, even with the same inode number.
  def another?(opened)
    before = @opened if Tiercel::Forks.current?(@process)
    @process = Tiercel::Forks.current
    @opened = opened
    !before.nil? && !before.equal?(opened)
  end

  # Attributes this process' changes to the segment.
  def name_member
    @last.member_name = "near:#{@near.backend.segment.file_id}"
  rescue Tiercel::BackendError
    nil
  end

  def wall(ns, now_ns) = Tiercel::Clock.now - ((now_ns - ns) / 1e9)

  def alone(covered_ns, now_ns, moved)
    @noticed_ns = nil
    @near.cap = ALONE_TTL_SECONDS
    @coverage.cover(moved || covered_ns.zero? ? now_ns : covered_ns, now_ns)
  end

  def with_others(covered_ns, now_ns, moved)
    @noticed_ns ||= now_ns
    @near.cap = TTL_SECONDS
    anew = moved || covered_ns.zero? || now_ns - @noticed_ns < NOTICING_NS || now_ns - covered_ns > LAPSE_NS
    @coverage.cover(anew ? now_ns : covered_ns, now_ns)
  end
end
