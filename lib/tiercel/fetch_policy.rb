# frozen_string_literal: true

# How `fetch` handles missing and expired values: the options of a store and of a call.
#
# @private
class Tiercel::FetchPolicy
  # If `race_condition_ttl` is set, the backend keeps an expired entry for this many seconds, so that callers can
  # read the stale value. Rails uses the same number.
  RACE_CONDITION_GRACE = 300

  NAMES = %i[lease lease_ttl lease_wait stale_while_revalidate stale_if_error refresh jitter inherit_tags].freeze
  DEFAULTS = NAMES.to_h { |name| [name, Tiercel::Options::STORE.fetch(name).last] }.freeze
  private_constant :DEFAULTS

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
    @options = Tiercel::Options.checked(options.slice(*NAMES).compact)
    values = { **DEFAULTS, **@options }
    @lease = values[:lease]
    @lease_ttl = values[:lease_ttl]
    @lease_wait = @options[:lease_wait] || (@lease_ttl * 2)
    @stale_while_revalidate = @options[:stale_while_revalidate]
    @stale_if_error = @options[:stale_if_error]
    @stale_seconds = [@stale_while_revalidate, @stale_if_error].compact.max
    @jitter = values[:jitter]
    @inherit_tags = values[:inherit_tags]
    freeze
  end

  # @param options [Hash{Symbol => Object}] options of a call
  # @return [FetchPolicy] this policy with the options of the call
  # @raise [ConfigurationError] for an invalid value
  def for(options)
    return self unless options&.keys&.intersect?(NAMES)
    Tiercel::FetchPolicy.new(@options.merge(options.slice(*NAMES)))
  end

  # @return [Boolean] whether a refresh runs in the background
  def background? = @options[:refresh] == :background
end
