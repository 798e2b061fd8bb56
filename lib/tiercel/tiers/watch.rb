# frozen_string_literal: true

# Detects changes of a SQLite file from outside a near segment: by programs without near copies, and by other segments
# (containers, two releases during a deploy). Each process registers in the file before it changes the file. A process
# with a near miss looks at the registrations at most once a second, so no thread and no bus is needed:
#
# - While no other program is registered, the segment is covered until now ({Coverage}), and copies live long.
# - Once another program is registered, all copies are deleted, and later copies live a second.
#
# With copies of 3 s in place of 60 s, the near tier would answer 18 % of the reads of a shop with 10 pages a second,
# in place of 70 % (adr/016).
#
# @private
class Tiercel::Tiers::Watch
  INTERVAL_NS = 1_000_000_000
  # Every process of the segment notices another program within this time. Until then all copies are deleted again
  # and again.
  NOTICING_NS = 3 * INTERVAL_NS
  # A large change, or a change by a stopped process, may complete this long after its registration.
  SLACK_SECONDS = 10.0

  # @param last [Backends::SQLite]
  # @param near [Near] a near tier with a {Coverage}
  def initialize(last, near)
    @last = last
    @near = near
    @coverage = near.coverage
  end

  # Covers the near tier if it may be trusted.
  #
  # @return [false] this process receives no messages about changes
  def listen
    now_ns = @coverage.now
    return false if @checked_ns && now_ns - @checked_ns < INTERVAL_NS
    @checked_ns = now_ns # other threads continue without a check
    check(now_ns)
    false
  rescue Tiercel::BackendError
    false # the file or the segment does not answer: copies stay trusted for {Coverage#trust} at most
  end

  # Runs before a change too, so that a write before the first read can leave a copy.
  alias before_change listen

  # @return [Boolean] whether the last tier sends a message about each change
  def messages? = false

  # Every connection leads to the same file.
  def before_fill = nil
  def fill?(_seen) = true
  def close = nil

  # @return [Hash{Symbol => Object}] :alone, whether only this segment has changed the file, as of the last check
  def stats = { alone: !@checked_ns.nil? && @noticed_ns.nil? }

  private

  def check(now_ns)
    @last.member_name = "near:#{@near.backend.segment.file_id}"
    covered_ns = @coverage.covered
    covered_ns = now_ns if covered_ns.zero?
    since = Tiercel::Clock.now - ((now_ns - covered_ns) / 1e9) - SLACK_SECONDS
    @noticed_ns = (@noticed_ns || now_ns if @last.others_since?(since))
    @near.long_lived = @noticed_ns.nil?
    @coverage.cover(@noticed_ns && now_ns - @noticed_ns < NOTICING_NS ? now_ns : covered_ns, now_ns)
  end
end
