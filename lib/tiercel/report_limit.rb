# frozen_string_literal: true

require_relative "breaker"
require_relative "clock"

module Tiercel
  # Lets one report of a cause through, and counts the others until a pause is
  # over: a full disk refuses every write, and one line says so.
  #
  # The pause begins at `cool_down` seconds and doubles, up to `max_cool_down`,
  # as long as the cause goes on; a pause without it begins anew.
  #
  # @private
  class ReportLimit
    # More causes are not told apart: the oldest is forgotten, and reported again.
    MOST_CAUSES = 100

    # The state of one cause.
    Cause = Struct.new(:pause, :silent_until, :unreported)
    private_constant :Cause

    # @param cool_down [Numeric] seconds
    # @param max_cool_down [Numeric] seconds
    # @param clock [#call] gives seconds of a clock that only moves forward
    def initialize(cool_down: Breaker::DEFAULTS[:cool_down], max_cool_down: Breaker::DEFAULTS[:max_cool_down],
                   clock: Clock.method(:monotonic))
      @cool_down = cool_down
      @max_cool_down = max_cool_down
      @clock = clock
      @causes = {}
      @lock = Mutex.new
    end

    # @param cause [Object] what is the same for all that is to be reported once
    # @return [Integer, nil] how many were not reported since the last one that was; nil if this one is not to be
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
