# frozen_string_literal: true

module Tiercel
  # The failure contract: a call that the backend fails behaves like a miss and is reported, and the {Breaker} skips
  # calls while the backend is down.
  #
  #   guard = Guard.new(backend, error_handler: nil, logger: -> { store.logger })
  #   guard.call(:read_entry, key, returning: nil) { backend.get(key) }
  #
  # The guard handles only a {BackendError}. The guard lets all other errors through: programming errors, Timeout,
  # Interrupt.
  class Guard
    # Number of consecutive timeouts after which {#timing_out?} is true, and the seconds for which it stays true.
    MOST_TIMEOUTS = 2
    TIMING_OUT_SECONDS = 1.0
    private_constant :MOST_TIMEOUTS, :TIMING_OUT_SECONDS

    # Calls that delete. If the server does not confirm a delete, the list of undelivered deletes repeats it.
    DELETES = %i[delete_entry delete_multi_entries invalidate_tags].freeze
    # Calls that may continue while a delete of their keys is waiting. The late delete may also remove a newer value,
    # which costs a miss.
    CHANGES = [*DELETES, *%i[write_entry write_multi_entries increment decrement]].freeze
    # Calls that concern keys which nobody lists. The calls are not repeated, so a skipped one is reported.
    SWEEPS = %i[clear delete_matched].freeze
    private_constant :DELETES, :CHANGES, :SWEEPS

    # @return [Breaker, nil]
    attr_reader :breaker
    # @return [Undelivered, nil] the deletes that a remote backend did not confirm; nil for other backends
    attr_reader :undelivered
    # @return [Integer] failed calls of this process, and how often its breaker opened
    attr_reader :failures, :breaker_openings

    # @param backend [Backend] the guarded backend; a backend in this machine's memory gets no breaker
    # @param error_handler [#call, nil] called as `call(method:, returning:, exception:)` for each reported failure,
    #   like the one of Rails' RedisCacheStore. An error that it raises reaches the caller. Without an error handler,
    #   {GuardLog} logs the failure
    # @param breaker [Boolean, Hash] false for none, a Hash for the options of {Breaker}
    # @param logger [#call] returns the store's Logger, or nil for Rails.logger
    # @param log_keys [Boolean] whether log lines and reports show keys, which may be private
    # @param clock [#call] returns seconds of a monotonic clock
    # @raise [ConfigurationError] if an option of the breaker cannot work
    def initialize(backend, error_handler: nil, breaker: true, logger: -> {}, log_keys: false,
                   clock: Clock.method(:monotonic))
      @backend = backend
      @error_handler = error_handler
      @breaker = Breaker.build(breaker, clock:) if breaker && !backend.in_memory?
      @refusals = ReportLimit.new(clock:)
      @log_keys = log_keys
      @log = GuardLog.new(backend, logger, clock, log_keys:)
      @handler_raises = false
      @clock = clock
      @failing = false
      @timeouts = 0
      @undelivered = build_undelivered(clock) if backend.remote?
      @failures = @breaker_openings = 0
    end

    # @return [Boolean] whether calls are skipped at present
    def open? = @breaker ? @breaker.open? : false

    # @return [Boolean] whether the last two calls have timed out just now. A caller that can continue without the
    #   backend then skips a third wait
    def timing_out? = @timeouts >= MOST_TIMEOUTS && @clock.call < @timed_out_at + TIMING_OUT_SECONDS

    # Runs the block.
    #
    # @param method [Symbol] the operation, for error reports
    # @param key [String, nil] the key of the call, for error reports
    # @param returning [Object] the result of the call if the backend fails
    # @param keys [Array<String>, nil] the keys of a call with several keys
    # @yieldparam keys [Array<String>, nil] the argument, without keys that must not be read ({Undelivered})
    # @return [Object] the block's value, or `returning`
    def call(method, key = nil, returning: nil, keys: nil)
      if @failing && @breaker && !@breaker.allow?
        @undelivered&.note(keys || [key]) if DELETES.include?(method)
        return skipped(method, key, returning)
      end
      begin
        if @undelivered&.any?
          @undelivered.deliver
          # After the delivery a key can still be pending: one of several servers may not answer, or a late request may
          # still arrive.
          if reads?(method, key, keys) && (pending = @undelivered.pending(keys || [key])).any?
            keys = keys ? keys - pending : []
            return returning if keys.empty?
          end
        end
        return probe(key || keys.first, returning) if @failing && open? && reads?(method, key, keys)
        result = yield keys
      rescue BackendError => error
        @undelivered&.note(keys || [key]) if DELETES.include?(method)
        return failed(error, method, key, returning)
      end
      recovered if @failing
      result
    end

    # Refuses bytes that the backend can never store. The caller is a block of {#call}, which then returns false and
    # reports the refusal.
    #
    # @param key [String, nil] nil in a call with several keys
    # @param bytes [String, Hash{String => String}] a value, or those of several keys
    # @raise [Refused]
    def too_large(key, bytes)
      size = Sizes.human(key ? bytes.bytesize : bytes.each_value.sum(&:bytesize))
      what = key ? "#{size} are more than" : "some of #{size} in all are in a value larger than"
      raise Refused.new("not stored: #{what} this backend takes for one value; what was under the key is gone",
                        backend: @backend.to_s, key: key).with_partial(false)
    end

    private

    # From the first failure until the next success, each call checks the breaker.
    def failed(error, method, key, returning)
      timed_out = error.is_a?(TimedOut) && error.partial.nil?
      @timed_out_at = @clock.call if timed_out
      @timeouts = timed_out ? @timeouts + 1 : 0
      was_open = open?
      returning = error.partial unless error.partial.nil?
      worth_a_report = worth_a_report?(error) && first_of_its_cause?(error, method)
      @failures += 1
      @breaker_openings += 1 if !was_open && open?
      report(error, method, key) if worth_a_report
      handle(error, method, returning) if worth_a_report || @handler_raises
      returning
    ensure
      @failing = true # a call that succeeded concurrently may not have seen this failure
    end

    def build_undelivered(clock)
      Undelivered.new(@backend, clock:, answered: method(:recovered)) { |error, name| failed(error, name, nil, nil) }
    end

    def reads?(method, key, keys) = @undelivered && (key || keys&.any?) && !CHANGES.include?(method)

    # Asks whether the server answers. The caller does not get the bytes: another process may still have to delete them.
    def probe(key, returning)
      @backend.tiers.last.get(key)
      recovered
      returning
    end

    def recovered
      answered
      @timeouts = 0
      @failing = false
    end

    # Several servers return one by one, each with a breaker of its own, so the end of their outage is not known here.
    def answered
      @undelivered&.settle if open? && !@backend.tiers.last.several_servers? # first: other threads may call at once
      @breaker&.succeeded
      @log.closed
    end

    # With several servers, each has its own breaker, whose opening has already been reported. The store's breaker
    # counts a failure only if no other server answers.
    def worth_a_report?(error)
      skipped = error.is_a?(BreakerOpen)
      return !skipped unless @breaker
      return false if skipped && error.partial.nil?
      return true if error.is_a?(PoolExhausted) && error.partial.nil? # no server was called
      return @backend.answers_elsewhere? || @breaker.failed if error.counts_for_breaker? && error.partial.nil?
      answered
      !skipped
    end

    # A refusal costs no time, so the breaker stays closed; but a full server or disk refuses every write.
    def first_of_its_cause?(error, method)
      return true unless error.is_a?(Refused)
      unreported = @refusals.admit([method, error.cause.class, error.reason.gsub(PARTICULAR, "#")])
      error.unreported = unreported || 0
      !unreported.nil?
    end

    # Words that vary between failures with the same cause: words with digits or paths, such as sizes, file names,
    # processes.
    PARTICULAR = %r{\S*[\d/]\S*}
    private_constant :PARTICULAR

    # An open breaker is reported once, when it opens. Only an error_handler that raises also receives each skipped
    # call.
    def skipped(method, key, returning)
      @log.skipped
      if SWEEPS.include?(method)
        error = Refused.new("#{method} did not reach it, and is not repeated: call it again", backend: @backend.to_s)
        report(error, method, key)
        handle(error, method, returning, false)
      elsif @handler_raises
        error = BreakerOpen.new("not asked: it failed #{method} before and is in its cool-down",
                                backend: @backend.to_s, key: key)
        handle(error, method, returning)
      end
      returning
    end

    def report(error, method, key)
      Reports.handled(error, backend: @backend.to_s, key: error.key || key, method:, unreported: error.unreported,
                             log_keys: @log_keys)
    end

    # @param opened [Boolean] whether this failure opened the breaker, which has a log line of its own
    def handle(error, method, returning, opened = open?)
      return @log.failed(error, method, returning, opened) unless @error_handler
      @handler_raises = true
      @error_handler.call(method: method, returning: returning, exception: error)
      @handler_raises = false
    end
  end
end
