# frozen_string_literal: true

require_relative "errors"
require_relative "redacted"

module Tiercel
  # How `fetch` handles missing and expired values: the options of a store and of a call.
  #
  # @private
  class FetchPolicy
    # Seconds after which another caller may take over the lease of a slow holder.
    DEFAULT_LEASE_TTL = 10.0

    NAMES = %i[lease lease_ttl lease_wait stale_while_revalidate stale_if_error refresh jitter early_refresh
               fetch_timeout].freeze
    # The options of a call. In a store's options, `timeout:` belongs to the backend.
    CALL_NAMES = [*NAMES, :timeout].freeze
    SECONDS = %i[lease_ttl lease_wait].freeze
    WINDOWS = %i[stale_while_revalidate stale_if_error].freeze
    REFRESHES = [nil, :inline, :background].freeze
    TIMEOUTS = %i[soft hard].freeze
    private_constant :TIMEOUTS

    # @return [Boolean] whether `fetch` acquires leases
    attr_reader :lease
    # @return [Float] seconds
    attr_reader :lease_ttl
    # @return [Float] seconds that a caller waits for another caller's value, at most
    attr_reader :lease_wait
    # @return [Float, nil] seconds after expiry
    attr_reader :stale_while_revalidate
    # @return [Float, nil] seconds after expiry
    attr_reader :stale_if_error
    # @return [Float, nil] seconds after expiry for which a backend keeps the value
    attr_reader :stale_seconds
    # @return [Float] the fraction of `expires_in` by which an entry may expire earlier
    attr_reader :jitter
    # @return [Float, nil] the last fraction of `expires_in`, in which a hit triggers a refresh
    attr_reader :early_refresh
    # @return [Float, nil] seconds after which a call returns a stale value, if there is one
    attr_reader :soft_timeout
    # @return [Float, nil] seconds after which a call raises {FetchTimeout}
    attr_reader :hard_timeout
    # @return [Boolean] whether a call has a time limit
    attr_reader :timeout
    alias timeout? timeout

    # @param options [Hash{Symbol => Object}] some of {NAMES}
    # @raise [ConfigurationError] which is an ArgumentError
    def initialize(options)
      @options = options.slice(*NAMES)
      check
      @lease = @options[:lease] != false
      @lease_ttl = (@options[:lease_ttl] || DEFAULT_LEASE_TTL).to_f
      @lease_wait = (@options[:lease_wait] || (@lease_ttl * 2)).to_f
      @stale_while_revalidate = @options[:stale_while_revalidate]&.to_f
      @stale_if_error = @options[:stale_if_error]&.to_f
      @stale_seconds = [@stale_while_revalidate, @stale_if_error].compact.max
      @jitter = (@options[:jitter] || 0).to_f
      @early_refresh = @options[:early_refresh]&.to_f
      @soft_timeout, @hard_timeout = timeouts
      @timeout = !(@soft_timeout || @hard_timeout).nil?
      freeze
    end

    # @param options [Hash{Symbol => Object}] options of a call
    # @return [FetchPolicy] this policy with the options of the call
    def for(options)
      return self unless options && options.any? { |name, _| CALL_NAMES.include?(name) }
      own = options.slice(*NAMES)
      own[:fetch_timeout] = options[:timeout] if options.key?(:timeout)
      FetchPolicy.new(@options.merge(own))
    end

    # @return [Boolean] whether a refresh runs in the background
    def background? = @options[:refresh] == :background

    private

    def check
      SECONDS.each { |name| expect(name, "seconds (a number > 0)") { |value| number?(value) && value.positive? } }
      WINDOWS.each { |name| expect(name, "seconds (a number >= 0)") { |value| number?(value) && value >= 0 } }
      expect(:jitter, "a share of expires_in, from 0 to 1") { |value| number?(value) && value.between?(0, 1) }
      expect(:early_refresh, "a share of expires_in, more than 0 and less than 1") do |value|
        number?(value) && value.positive? && value < 1
      end
      expect(:refresh, ":inline or :background") { |value| REFRESHES.include?(value) }
      expect(:lease, "true or false") { |value| [true, false].include?(value) }
      expect(:fetch_timeout, "seconds (a number > 0), or { soft:, hard: } of them, soft <= hard (a call says " \
                             "timeout:)") { |value| limits?(value) }
    end

    def limits?(value)
      return number?(value) && value.positive? unless value.is_a?(Hash)
      seconds = value.values_at(*TIMEOUTS).compact
      (value.keys - TIMEOUTS).empty? && seconds.all? { |each| number?(each) && each.positive? } &&
        seconds == seconds.sort
    end

    # A single number sets both timeouts.
    def timeouts
      value = @options[:fetch_timeout]
      both = value.is_a?(Hash) ? value.values_at(*TIMEOUTS) : [value, value]
      [both.compact.first, both.last].map { |seconds| seconds&.to_f }
    end

    def expect(name, what)
      value = @options[name]
      return if value.nil? || yield(value)
      raise ConfigurationError, "#{name}: expected #{what}, got #{Redacted.text(value)}"
    end

    def number?(value) = value.is_a?(Numeric) && value.real? && value.to_f.finite?
  end
end
