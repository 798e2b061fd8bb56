# frozen_string_literal: true

require_relative "redacted"

module Tiercel
  # Root of every error that Tiercel raises, except the ArgumentErrors for
  # calls that are wrong in themselves.
  class Error < StandardError; end

  # A URL, option or combination of options that cannot work. Raised while a
  # store is built, never later.
  class ConfigurationError < ArgumentError; end

  # A library that an option asks for is not installed. The message carries
  # the line for the Gemfile.
  class MissingDependency < Error; end

  # Bytes that are not a frame this version can decode: foreign, truncated,
  # altered, or larger than the limit once inflated. Read as a miss.
  class MalformedFrame < Error; end

  # A value that the configured serializer cannot dump, or a payload that it
  # refuses to load.
  class SerializationError < Error; end

  # A counter operation met bytes that are not a decimal number in the signed
  # 64-bit range.
  class NotACounter < Error; end

  # A `fetch` with `timeout:` has no value in time: neither its block's nor
  # somebody else's, and none that has ended and may be served in its place.
  class FetchTimeout < Error
    # @return [String] that was asked for
    attr_reader :key
    # @return [Float] seconds that the call was given
    attr_reader :seconds

    # @param message [String, nil] what happened, without the key
    # @param key [String, nil]
    # @param seconds [Float, nil]
    def initialize(message = nil, key: nil, seconds: nil)
      @key = key
      @seconds = seconds
      super([message || self.class.name, ("key #{key.inspect}" if key)].compact.join(" - "))
    end
  end

  # A backend could not answer. The store turns it into a miss and a report.
  #
  # Backends raise it (or a subclass) with the library's own error as cause.
  class BackendError < Error
    # @return [String, nil] which backend, as its {Backend#to_s} says it
    attr_reader :backend
    # @return [String, nil] the key that was asked for, where there was one
    attr_reader :key
    # @return [String] what happened, without backend and key
    attr_reader :reason
    # @return [Integer] how many failures of the same cause were not reported since the last one that was: see
    #   docs/failures.md
    attr_accessor :unreported
    # @private
    # @return [Boolean, nil] whether the log has it already
    attr_accessor :logged

    # @param message [String, nil] what happened, without backend and key
    # @param backend [#to_s, nil] without its password
    # @param key [String, nil]
    def initialize(message = nil, backend: nil, key: nil)
      @backend = backend
      @key = key
      @reason = message || self.class.name
      @unreported = 0
      super([@reason, ("key #{key.inspect}" if key), backend&.to_s].compact.join(" - "))
    end

    # The keys found, written or deleted before the failure, where an operation on many keys went to
    # several servers and only some of them failed. The {Guard} returns it in place of the default.
    #
    # @return [Object, nil]
    attr_reader :partial

    # @param result [Object] see {#partial}
    # @return [self]
    def with_partial(result)
      @partial = result
      self
    end

    # @return [Boolean] whether the circuit breaker should count it: the
    #   backend as a whole did not answer, so that asking again costs time
    def counts_for_breaker? = true
  end

  # The backend does not answer: absent, killed, hung, connection cut.
  class Unavailable < BackendError; end

  # The time budget of the call ran out.
  class TimedOut < Unavailable; end

  # No connection (or other slot) was free within the time budget. It says
  # nothing about the backend: the breaker stays as it is.
  class PoolExhausted < Unavailable
    def counts_for_breaker? = false
  end

  # The circuit breaker is open: the backend was not asked.
  class BreakerOpen < Unavailable
    def counts_for_breaker? = false
  end

  # The last tier of a stack was not asked for a key whose change it has not received yet.
  #
  # @private
  class Unsettled < BreakerOpen; end

  # The backend answered that it will not do this one thing: read-only,
  # out of memory, key of another type, value too large. Others may work.
  class Refused < BackendError
    # @private
    # @return [Boolean, nil] whether these are keys that the backend never lets this caller change
    attr_accessor :forbidden

    def counts_for_breaker? = false
  end
end
