# frozen_string_literal: true

# A circuit breaker. The breaker stops calls to a backend that does not answer.
#
# The breaker is closed until `failures` calls in a row have failed. The breaker then opens, and calls are skipped.
# After `cool_down` seconds it lets one call through as a probe. A successful probe closes the breaker; a failed probe
# doubles the cool-down, up to `max_cool_down`. Any other successful call closes it too.
#
# Starting a probe also schedules the next one. A probe whose thread was killed, or whose thread a fork did not
# copy, therefore delays others by at most one cool-down.
#
# The usual calls ({#allow?}, and {#succeeded} while closed) acquire no lock.
class Tiercel::Breaker
  DEFAULTS = { failures: 3, cool_down: 1.0, max_cool_down: 5.0 }.freeze

  # @param options [true, Hash] see {#initialize}
  # @return [Breaker]
  # @raise [ConfigurationError] for unknown names or impossible numbers
  def self.build(options, clock: Tiercel::Clock.method(:monotonic))
    new(**(options == true ? {} : options).transform_keys(&:to_sym), clock:)
  rescue ArgumentError, NoMethodError, TypeError
    raise Tiercel::ConfigurationError,
      "breaker: #{Tiercel::Redacted.text(options)}: expected true, false, or { failures: an Integer of at least 1, " \
      "cool_down: seconds > 0, max_cool_down: seconds, at least cool_down }"
  end

  # @param failures [Integer] failed calls in a row that open it, at least 1
  # @param cool_down [Numeric] seconds between opening and the first probe, > 0
  # @param max_cool_down [Numeric] seconds between two probes at most, at least `cool_down`
  # @param clock [#call] gives seconds of a clock that only moves forward
  # @raise [ArgumentError] for impossible numbers
  def initialize(failures: DEFAULTS[:failures], cool_down: DEFAULTS[:cool_down],
                 max_cool_down: [DEFAULTS[:max_cool_down], cool_down].max, clock: Tiercel::Clock.method(:monotonic))
    possible = failures.is_a?(Integer) && failures >= 1 && cool_down.positive? && max_cool_down >= cool_down
    possible or raise ArgumentError
    @threshold = failures
    @first_cool_down = cool_down.to_f
    @max_cool_down = max_cool_down.to_f
    @clock = clock
    @lock = Mutex.new
    @failures = 0
    @probe_at = nil
    @probing = false
    @cool_down = @first_cool_down
  end

  # @return [Boolean] whether calls are skipped at present
  def open? = !@probe_at.nil?

  # @return [Boolean] whether the last reported call failed
  def failing? = !@failures.zero?

  # Decides whether a call may be made. While the breaker is open, it lets at most one caller through per cool-down.
  #
  # @return [Boolean] whether the caller may use the backend
  def allow?
    probe_at = @probe_at
    return true unless probe_at
    return false if @clock.call < probe_at
    @lock.synchronize do
      next true unless @probe_at
      now = @clock.call
      next false if now < @probe_at
      @probe_at = now + @cool_down # of the next probe, whatever the result of this one
      @probing = true
    end
  end

  # Records that the backend answered.
  #
  # @return [void]
  def succeeded
    return if @failures.zero? && @probe_at.nil?
    @lock.synchronize do
      @failures = 0
      @probe_at = nil
      @probing = false
      @cool_down = @first_cool_down
    end
  end

  # Records that the backend did not answer.
  #
  # @return [Boolean] whether to report this failure: false for a call that was already in progress when the breaker
  #   opened
  def failed
    @lock.synchronize do
      @failures += 1
      next false if @probe_at && !@probing
      @cool_down = [@cool_down * 2, @max_cool_down].min if @probing
      @probing = false
      @probe_at = @clock.call + @cool_down if @failures >= @threshold
      true
    end
  end
end
