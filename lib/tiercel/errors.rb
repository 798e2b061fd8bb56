# frozen_string_literal: true

module Tiercel
  # The root of every error that Tiercel raises, except the ArgumentErrors for invalid calls.
  class Error < StandardError; end

  # An invalid URL, option or combination of options. Raised while a store or one of its parts is built or
  # opened, and when a store is frozen for other Ractors. The error is an ArgumentError, and no {Error}.
  class ConfigurationError < ArgumentError; end

  # A library that an option needs is not installed. The message contains the line for the Gemfile.
  class MissingDependency < Error; end

  # Bytes that this version cannot decode as a frame: foreign, truncated or altered bytes, or a payload that inflates
  # beyond the limit. The store treats them as a miss.
  class MalformedFrame < Error; end

  # An encrypted entry that was altered or moved, or whose key is unknown; or a plain one in a store that encrypts.
  class Undecryptable < MalformedFrame; end

  # A value that the configured serializer cannot dump, or a payload that it refuses to load.
  class SerializationError < Error; end

  # A counter operation found bytes that are not a decimal number in the signed 64-bit range.
  class NotACounter < Error; end

  # A backend could not answer. The store reports it and returns a miss.
  #
  # Backends raise it (or a subclass); its cause is the library's own error. The message shows the kind of the key
  # ({KeyMask}), {#key} the key itself.
  class BackendError < Error
    # @return [String, nil] the backend, as in {Backend#to_s}
    attr_reader :backend
    # @return [String, nil] the key of the call, if the call had one
    attr_reader :key
    # @return [String] what happened, without backend and key
    attr_reader :reason
    # @return [Integer] number of failures with the same cause since the last report; see docs/failures.md
    attr_accessor :unreported
    # @private
    # @return [Boolean, nil] whether the error is already in the log
    attr_accessor :logged

    # @param message [String, nil] what happened, without backend and key. May hold a server's bytes
    # @param backend [#to_s, nil] a name without a password
    # @param key [String, nil]
    def initialize(message = nil, backend: nil, key: nil)
      @backend = backend
      @key = key
      @reason = OneLine.of(message || self.class.name)
      @unreported = 0
      super([@reason, ("key #{KeyMask.of(key)}" if key), backend&.to_s].compact.join(" - "))
    end

    # The result of an operation on many keys if only some of the servers failed: the keys found, written or deleted
    # before the failure. The {Guard} returns it in place of the default.
    #
    # @return [Object, nil]
    attr_reader :partial

    # @param result [Object] see {#partial}
    # @return [self]
    def with_partial(result)
      @partial = result
      self
    end

    # @return [Boolean] whether the circuit breaker counts it: true if the backend as a whole did not answer, so that
    #   every further call would cost time
    def counts_for_breaker? = true
  end

  # The backend does not answer: it is stopped, killed or hung, or the connection was cut.
  class Unavailable < BackendError; end

  # The call exceeded its time budget.
  class TimedOut < Unavailable; end

  # No connection (or other slot) became free within the time budget. This says nothing about the server, so the
  # breaker does not count it.
  class PoolExhausted < Unavailable
    def counts_for_breaker? = false
  end

  # The circuit breaker is open, so the call never reached the backend.
  class BreakerOpen < Unavailable
    # Builds the error of a skipped call without a backtrace, which would dominate the call's cost deep in a request.
    #
    # @private
    # @return [BreakerOpen]
    def self.quick(message, **) = new(message, **).tap { |error| error.set_backtrace([]) }

    def counts_for_breaker? = false
  end

  # The backend refused this operation: read-only, out of memory, key of another type, value too large. Other
  # operations may succeed.
  class Refused < BackendError
    # @private
    # @return [Boolean, nil] whether the backend permanently forbids this caller to change these keys
    attr_accessor :forbidden

    def counts_for_breaker? = false
  end
end
