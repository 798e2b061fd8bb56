# frozen_string_literal: true

module Tiercel
  # Lets the first report of a cause through, and counts further failures until a pause is over. A full disk, for
  # example, refuses every write, and one line reports it.
  #
  # The first pause takes `cool_down` seconds. It doubles up to `max_cool_down` while the cause continues, and starts
  # again at `cool_down` after a pause without failures.
  #
  # @private
  class ReportLimit
    # Maximum number of remembered causes. A further cause replaces the oldest one, whose next failure is then
    # reported again.
    MOST_CAUSES = 100

    # The state of one cause.
    Cause = Struct.new(:pause, :silent_until, :unreported)
    private_constant :Cause

    # @param cool_down [Numeric] seconds of the first pause
    # @param max_cool_down [Numeric] seconds of the longest pause
    # @param clock [#call] returns seconds of a monotonic clock
    def initialize(cool_down: Breaker::DEFAULTS[:cool_down], max_cool_down: Breaker::DEFAULTS[:max_cool_down],
                   clock: Clock.method(:monotonic))
      @cool_down = cool_down
      @max_cool_down = max_cool_down
      @clock = clock
      @causes = {}
      @lock = Mutex.new
    end

    # @param cause [Object] identifies failures that are reported together
    # @return [Integer, nil] number of suppressed reports since the last one; nil if this one is suppressed as well
    def admit(cause)
      @lock.synchronize do
        now = @clock.call
        known = @causes[cause]
        if known && now < known.silent_until
          known.unreported += 1
          next
        end
        begin_pause(cause, known, now)
        known&.unreported || 0
      end
    end

    private

    def begin_pause(cause, known, now)
      goes_on = known && now < known.silent_until + known.pause
      pause = goes_on ? [known.pause * 2, @max_cool_down].min : @cool_down
      @causes.delete(cause)
      @causes.shift if @causes.size >= MOST_CAUSES
      @causes[cause] = Cause.new(pause, now + pause, 0)
    end
  end
end
