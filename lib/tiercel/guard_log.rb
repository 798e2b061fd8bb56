# frozen_string_literal: true

# The log of a {Guard}: one line for each failure while the breaker is closed, one line when the breaker opens, and
# one when the backend answers again.
#
# @private
class Tiercel::GuardLog
  # @param backend [Backend, String] the backend's name in the log
  # @param logger [#call] returns the Logger of the store; if it returns nil, Rails' logger is used
  # @param clock [#call] returns seconds of a monotonic clock
  # @param log_keys [Boolean] whether lines show the key itself
  def initialize(backend, logger, clock, log_keys: false)
    @log_keys = log_keys
    @backend = backend
    @logger = logger
    @clock = clock
    @lock = Mutex.new
    @opened_at = nil
    @skipped = 0
  end

  # @param error [BackendError]
  # @param method [Symbol]
  # @param returning [Object]
  # @param open [Boolean] whether this failure opened the breaker
  # @return [void]
  def failed(error, method, returning, open)
    return opened(error) if open
    return if error.logged
    warn do
      key = "; key #{error.key.inspect}" if @log_keys && error.key
      others = "; #{error.unreported} more since the last report" if error.unreported.positive?
      "#{method} on #{@backend} failed#{shown(returning)}: #{error.class}: #{error.message}#{others}#{key}"
    end
  end

  # The breaker has opened. Logs one line until {#closed} is called.
  #
  # @param error [StandardError] the reason
  # @return [void]
  def opened(error)
    first = @lock.synchronize do
      next if @opened_at
      @skipped = 0
      @opened_at = @clock.call
    end
    first && warn do # a library's error may hold a server's bytes
      "#{@backend} does not answer (#{error.class}: #{Tiercel::OneLine.of(error.message)}); calls are skipped and " \
        "count as misses until it does"
    end
  end

  # Counts a call that the open breaker skipped.
  #
  # @return [void]
  def skipped = @lock.synchronize { @skipped += 1 }

  # @return [void]
  def closed
    opened_at = @lock.synchronize { @opened_at.tap { @opened_at = nil } } or return
    seconds = @clock.call - opened_at
    warn { "#{@backend} answers again; #{@skipped} calls were skipped in #{seconds.round(1)} s" }
  end

  private

  # Shortens a partial result, which may hold many keys with their values. A plain Object is an internal marker, which
  # no caller sees.
  def shown(returning)
    return if returning.instance_of?(Object)
    many = returning.is_a?(Hash) || returning.is_a?(Array) ? returning.size : 0
    ", returned #{many.zero? ? returning.inspect : "#{many} of the keys"}"
  end

  def warn(&) = Tiercel::Reports.log(@logger, &)
end
