# frozen_string_literal: true

# A circuit breaker. It stops calls to a backend that does not answer.
#
# The breaker is closed until `failures` calls in a row have failed. It then opens, and calls are skipped. After
# `cool_down` seconds it lets one call through as a probe. A successful probe closes the breaker; a failed probe
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
    return new(clock:) if options == true
    unless options.is_a?(Hash)
      raise Tiercel::ConfigurationError,
        "breaker: expected true, false or a Hash, got #{Tiercel::Redacted.text(options)}"
    end
    unknown = options.keys.map(&:to_sym) - DEFAULTS.keys
    return new(**options.transform_keys(&:to_sym), clock:) if unknown.empty?
    raise Tiercel::ConfigurationError, "breaker: unknown #{unknown.map(&:inspect).join(", ")}: " \
                                       "expected #{DEFAULTS.keys.map(&:inspect).join(", ")}"
  end

  # @param failures [Integer] failed calls in a row that open it, at least 1
  # @param cool_down [Numeric] seconds between opening and the first probe, > 0
  # @param max_cool_down [Numeric] seconds between two probes at most, at least `cool_down`
  # @param clock [#call] gives seconds of a clock that only moves forward
  def initialize(failures: DEFAULTS[:failures], cool_down: DEFAULTS[:cool_down],
                 max_cool_down: [DEFAULTS[:max_cool_down], cool_down].max, clock: Tiercel::Clock.method(:monotonic))
    check(:failures, failures, failures.is_a?(Integer) && failures >= 1, "an Integer of at least 1")
    check(:cool_down, cool_down, cool_down.is_a?(Numeric) && cool_down.positive?, "seconds > 0")
    check(:max_cool_down, max_cool_down, max_cool_down.is_a?(Numeric) && max_cool_down >= cool_down,
          "seconds, at least cool_down")
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
    @lock.synchronize { take_probe }
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
      next probe_failed if @probe_at
      @probe_at = @clock.call + @cool_down if @failures >= @threshold
      true
    end
  end

  # Records that an allowed call never reached the backend. The next caller becomes the probe.
  #
  # @return [void]
  def not_asked
    return unless @probing
    @lock.synchronize do
      @probe_at = @clock.call if @probing && @probe_at
      @probing = false
    end
  end

  private

  # Requires the lock. Schedules the next probe after one cool-down, whatever the result of this probe.
  def take_probe
    return true unless @probe_at
    now = @clock.call
    return false if now < @probe_at
    @probe_at = now + @cool_down
    @probing = true
  end

  # Requires the lock and an open breaker.
  def probe_failed
    return false unless @probing
    @probing = false
    @cool_down = [@cool_down * 2, @max_cool_down].min
    @probe_at = @clock.call + @cool_down
    true
  end

  def check(option, value, valid, expected)
    return if valid
    raise Tiercel::ConfigurationError, "breaker: #{option}: expected #{expected}, got #{Tiercel::Redacted.text(value)}"
  end
end
