# frozen_string_literal: true

require_relative "clock"

module Tiercel
  # The log of a {Guard}: each failure of a backend that still is
  # asked, one line when its breaker opens, and one when it answers again.
  #
  # @private
  class GuardLog
    # @param backend [Backend, String] what it is called
    # @param logger [#call] gives the Logger of the store, or nil: then it is that of Rails
    # @param clock [#call] gives seconds of a clock that only moves forward
    def initialize(backend, logger, clock)
      @backend = backend
      @logger = logger
      @clock = clock
      @lock = Mutex.new
      @open = false
      @skipped = 0
    end

    # @return [Boolean] whether it was said that the breaker is open
    def open? = @open

    # @param error [BackendError]
    # @param method [Symbol]
    # @param returning [Object]
    # @param open [Boolean] whether the breaker is open since
    # @return [void]
    def failed(error, method, returning, open)
      return opened(error) if open
      return if error.logged
      warn do
        others = "; #{error.unreported} more since the last such line" if error.unreported.positive?
        "#{method} on #{@backend} failed, returned #{returning.inspect}: #{error.class}: #{error.message}#{others}"
      end
    end

    # The breaker is open now. Says so once, until it is {#closed}.
    #
    # @param error [StandardError] why
    # @return [void]
    def opened(error)
      first = @lock.synchronize do
        next if @open
        @skipped = 0
        @opened_at = @clock.call
        @open = true
      end
      first && warn do
        "#{@backend} does not answer (#{error.class}: #{error.message}); calls are skipped and count as misses until " \
          "it does"
      end
    end

    # A call that the open breaker saved.
    #
    # @return [void]
    def skipped = @lock.synchronize { @skipped += 1 }

    # @return [void]
    def closed
      count, seconds = @lock.synchronize do
        next unless @open
        @open = false
        [@skipped, @clock.call - @opened_at]
      end
      count && warn { "#{@backend} answers again; #{count} calls were skipped in #{seconds.round(1)} s" }
    end

    private

    def warn
      logger = @logger.call || (Rails.logger if defined?(Rails.logger))
      logger&.warn { "Tiercel: #{yield}" }
    end
  end
end
