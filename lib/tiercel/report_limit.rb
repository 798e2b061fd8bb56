# frozen_string_literal: true

# Lets the first report of a cause through, and counts further failures until a pause is over. A full disk, for example,
# refuses every write, and one line reports it.
#
# @private
class Tiercel::ReportLimit
  # Maximum number of remembered causes. A further cause replaces the oldest one, whose next failure is then reported
  # again.
  MOST_CAUSES = 100

  # @param pause_seconds [Numeric] between two reports of a cause
  # @param clock [#call] returns seconds of a monotonic clock
  def initialize(pause_seconds: 5.0, clock: Tiercel::Clock.method(:monotonic))
    @pause_seconds = pause_seconds
    @clock = clock
    @causes = {} # by cause: time of its last report, number of failures since then
    @lock = Mutex.new
  end

  # @param cause [Object] identifies failures that are reported together
  # @return [Integer, nil] number of suppressed reports since the last one; nil if this one is suppressed as well
  def admit(cause)
    @lock.synchronize do
      now = @clock.call
      reported_at, unreported = @causes.delete(cause)
      silent = reported_at && now < reported_at + @pause_seconds
      @causes.shift if @causes.size >= MOST_CAUSES
      @causes[cause] = silent ? [reported_at, unreported + 1] : [now, 0]
      silent ? nil : unreported || 0
    end
  end
end
