# frozen_string_literal: true

module Tiercel
  # How `fetch` handles missing and expired values: the options of a store and of a call.
  #
  # @private
  class FetchPolicy
    # If `race_condition_ttl` is set, the backend keeps an expired entry for this many seconds, so that callers can
    # read the stale value. Rails uses the same number.
    RACE_CONDITION_GRACE = 300

    # Seconds after which another caller may take over the lease of a slow holder.
    DEFAULT_LEASE_TTL = 10.0

    NAMES = %i[lease lease_ttl lease_wait stale_while_revalidate stale_if_error refresh jitter inherit_tags].freeze
    SECONDS = %i[lease_ttl lease_wait].freeze
    WINDOWS = %i[stale_while_revalidate stale_if_error].freeze
    REFRESHES = [nil, :inline, :background].freeze
    BOOLEANS = %i[lease inherit_tags].freeze
    # Options of calls that are gone, with their names in {GoneOptions}. A store's `timeout:` belongs to the backend.
    GONE = { timeout: :fetch_timeout, early_refresh: :early_refresh }.freeze
    private_constant :GONE

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
    # @return [Boolean] whether an entry inherits the tags of the entries that its block reads
    attr_reader :inherit_tags

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
      @inherit_tags = @options[:inherit_tags] != false
      freeze
    end

    # @param options [Hash{Symbol => Object}] options of a call
    # @return [FetchPolicy] this policy with the options of the call
    # @raise [ConfigurationError] for an invalid value, or an option that is gone
    def for(options)
      return self unless options && options.any? { |name, _| NAMES.include?(name) || gone?(name) }
      FetchPolicy.new(@options.merge(options.slice(*NAMES)))
    end

    # @return [Boolean] whether a refresh runs in the background
    def background? = @options[:refresh] == :background

    private

    def check
      SECONDS.each { |name| expect(name, "seconds (a number > 0)") { |value| number?(value) && value.positive? } }
      WINDOWS.each { |name| expect(name, "seconds (a number >= 0)") { |value| number?(value) && value >= 0 } }
      expect(:jitter, "a share of expires_in, from 0 to 1") { |value| number?(value) && value.between?(0, 1) }
      expect(:refresh, ":inline or :background") { |value| REFRESHES.include?(value) }
      BOOLEANS.each { |name| expect(name, "true or false") { |value| [true, false].include?(value) } }
    end

    def gone?(name)
      gone = GONE[name] or return
      raise ConfigurationError, "#{name}: is no option of fetch any more: #{GoneOptions::INSTEAD.fetch(gone)}"
    end

    def expect(name, what)
      value = @options[name]
      return if value.nil? || yield(value)
      raise ConfigurationError, "#{name}: expected #{what}, got #{Redacted.text(value)}"
    end

    def number?(value) = value.is_a?(Numeric) && value.real? && value.to_f.finite?
  end
end
