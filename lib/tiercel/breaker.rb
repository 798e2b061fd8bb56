# frozen_string_literal: true

require_relative "clock"
require_relative "errors"

module Tiercel
  # A circuit breaker: stops asking a backend that does not answer.
  #
  # Closed until `failures` calls in a row have failed; then open, and calls
  # are skipped. After `cool_down` seconds one call is let through as a probe:
  # its success closes the breaker, its failure doubles the cool-down, up to
  # `max_cool_down`. Any other call that succeeds meanwhile closes it too.
  #
  # Taking a probe moves the time of the next one, so a probe whose thread was
  # killed, or that a fork left behind in the parent, holds nobody up for
  # longer than one cool-down. There is no other state to repair.
  #
  # The usual calls ({#allow?} and {#succeeded} while closed) take no lock.
  class Breaker
    DEFAULTS = { failures: 3, cool_down: 1.0, max_cool_down: 5.0 }.freeze

    # @return [Float] seconds between opening and the first probe
    attr_reader :first_cool_down
    # @return [Float] seconds between two probes at most
    attr_reader :max_cool_down

    # @param options [true, Hash] see {#initialize}
    # @return [Breaker]
    # @raise [ConfigurationError] for unknown names or impossible numbers
    def self.build(options)
      return new if options == true
      unless options.is_a?(Hash)
        raise ConfigurationError, "breaker: expected true, false or a Hash, got #{Redacted.text(options)}"
      end
      unknown = options.keys.map(&:to_sym) - DEFAULTS.keys
      return new(**options.transform_keys(&:to_sym)) if unknown.empty?
      raise ConfigurationError, "breaker: unknown #{unknown.map(&:inspect).join(", ")}: " \
                                "expected #{DEFAULTS.keys.map(&:inspect).join(", ")}"
    end

    # @param failures [Integer] failed calls in a row that open it, at least 1
    # @param cool_down [Numeric] seconds between opening and the first probe, > 0
    # @param max_cool_down [Numeric] seconds between two probes at most, at least `cool_down`
    # @param clock [#call] gives seconds of a clock that only moves forward
    def initialize(failures: DEFAULTS[:failures], cool_down: DEFAULTS[:cool_down],
                   max_cool_down: [DEFAULTS[:max_cool_down], cool_down].max, clock: Clock.method(:monotonic))
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

    # @return [Boolean] whether the last call that was told of has failed
    def failing? = !@failures.zero?

    # Asks before a call. While open, at most one caller per cool-down is let through.
    #
    # @return [Boolean] whether the backend may be asked
    def allow?
      probe_at = @probe_at
      return true unless probe_at
      return false if @clock.call < probe_at
      @lock.synchronize { take_probe }
    end

    # Tells that the backend answered.
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

    # Tells that the backend did not answer.
    #
    # @return [Boolean] whether it is worth a report: false for calls that were under way when the
    #   breaker opened, and fail after it
    def failed
      @lock.synchronize do
        @failures += 1
        next probe_failed if @probe_at
        @probe_at = @clock.call + @cool_down if @failures >= @threshold
        true
      end
    end

    # Tells that a call that was let through has not asked the backend: the next caller does.
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

    # Under the lock. The next probe is a cool-down away, whatever becomes of this one.
    def take_probe
      return true unless @probe_at
      now = @clock.call
      return false if now < @probe_at
      @probe_at = now + @cool_down
      @probing = true
    end

    # Under the lock, and open.
    def probe_failed
      return false unless @probing
      @probing = false
      @cool_down = [@cool_down * 2, @max_cool_down].min
      @probe_at = @clock.call + @cool_down
      true
    end

    def check(option, value, valid, expected)
      return if valid
      raise ConfigurationError, "breaker: #{option}: expected #{expected}, got #{Redacted.text(value)}"
    end
  end
end
