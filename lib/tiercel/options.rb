# frozen_string_literal: true

require "did_you_mean"

# The options of stores and backends in one table: type, and default. Validation, the lists in error messages and the
# suggestions for unknown names come from it, and test/options_test.rb compares it with the tables of the docs.
#
# @private
module Tiercel::Options
  # The values that each type accepts, for messages.
  EXPECTED = {
    switch: "true or false", seconds: "seconds (a number > 0)", window: "seconds (a number >= 0)",
    expiry: "seconds (a Numeric or an ActiveSupport::Duration, at least 0)",
    share: "a share of expires_in, from 0 to 1", refresh: ":inline or :background",
    handler: "something that answers to call(method:, returning:, exception:)",
    key_bytes: "bytes (Integer, at least 40), or false for no limit",
    threshold: "bytes (an Integer, or a String such as \"4KB\")",
    segment: "at least 1 MB (bytes, or a String such as \"256MB\")",
    disk: "at least 4 MB on disk (bytes, or a String such as \"1GB\")",
    memo: "1 MB to 1 TB (bytes, or a String such as \"16MB\"), true for 16MB or false for none",
    pool: "{ size:, timeout: }, a number of connections > 0, or false",
  }.freeze

  # The options of every store: type and default.
  STORE = Ractor.make_shareable({
    serializer: [:any, :auto], compressor: [:any, "LZ4"], marshal: [:switch, true], checksum: [:switch, true],
    error_handler: [:handler, "the logger"], breaker: [:any, true], log_keys: [:switch, false], encrypt: [:any],
    frozen: [:switch, false], lease: [:switch, true], lease_ttl: [:seconds, 10.0],
    lease_wait: [:seconds, "twice lease_ttl"], stale_while_revalidate: [:window], stale_if_error: [:window],
    refresh: [:refresh, :inline], jitter: [:share, 0.0], inherit_tags: [:switch, true],
  })
  # Rails' own options that are checked when the store is built; Rails would check them only in each call.
  RAILS = {
    expires_in: [:expiry], expire_in: [:expiry], expired_in: [:expiry], race_condition_ttl: [:expiry],
    max_key_size: [:key_bytes, 250], compress_threshold: [:threshold, 1_024],
  }.freeze
  remote = { timeout: [:seconds, 0.25], connect_timeout: [:seconds], pool: [:pool, { size: 5, timeout: 5.0 }] }
  disk = { size: [:disk, "1GB"], timeout: [:seconds, 0.25] }
  # The options of each kind of backend, and of a near tier.
  BACKENDS = {
    null: {}, memory: { size: [:segment, "32MB"], memo: [:memo] }, shared: { size: [:segment], memo: [:memo] },
    sqlite: disk, file: disk, memcached: { **remote, ssl: [:switch], ssl_params: [:any] },
    redis: { **remote, username: [:any], password: [:any], db: [:any], ssl_params: [:any], fixed_hostname: [:any],
             sentinels: [:any], name: [:any], sentinel_username: [:any], sentinel_password: [:any] },
    near: { ttl: [:seconds], bus: [:switch] },
  }.freeze
  # The smallest sizes, and the size of the memo with `memo: true`.
  LEAST_BYTES = { segment: 1 << 20, disk: 4 << 20 }.freeze
  MEMO_BYTES = 16 << 20

  # Options of other stores and of client libraries, with what to use in their place.
  url = "give the URL first, and options after it: :tiercel_store, \"redis://HOST:6379/0\", { pool: { size: 10 } }"
  place = ->(*forms) { "give it in the URL: #{forms.map(&:inspect).join(", ")}" }
  expiry, size = "use `expires_in: SECONDS`", "use `size: \"256MB\"`"
  INSTEAD = {
    **%i[url urls servers server host port hosts addresses nodes].to_h { |name| [name, url] },
    path: place["file:DIR", "sqlite:PATH", "shared:/PATH"], cache_path: place["file:DIR"],
    directory: place["file:DIR"], database: place["sqlite:PATH"], databases: place["sqlite:PATH"],
    redis: "give the URL in place of a connection: \"redis://HOST:6379/0\"",
    cluster: "give a URL: \"redis+cluster://HOST:6379,HOST:6379\"", ssl: "give a URL: \"rediss://HOST:6379/0\"",
    **%i[read_timeout write_timeout socket_timeout command_timeout]
      .to_h { |name| [name, "use `timeout: SECONDS`, one budget for the whole call"] },
    max_size: size, max_bytes: size, max_entries: size,
    **%i[max_age expiry expires expires_after].to_h { |name| [name, expiry] },
    ttl: "#{expiry}; for near copies, the near tier's URL: \"shared:?ttl=30\"",
    bus: "set it in the near tier's URL: \"shared:?bus=false\"",
    inflate_limit: "remove it: no payload inflates to more than 128 MB, and longer ones are not compressed",
    on_unavailable: "remove it: calls are misses until the segment can be created; cache:doctor of tiercel-insight " \
                    "fails",
    logger: "set `Rails.cache.logger` or `config.logger`",
    pool_size: "use `pool: { size: 10 }`, or `pool=10` in a URL", pool_timeout: "use `pool: { timeout: SECONDS }`",
    role: "remove it: a cache writes, so Tiercel uses the master that the Sentinels report",
    ssl_context: "use `ssl: true`, or `ssl_params:`",
  }.freeze

  class << self
    # @return [Array<Symbol>] names of the options of a kind of backend
    def of(kind) = BACKENDS.fetch(kind).keys

    # @param options [Hash{Symbol => Object}] options of a store, or of a call
    # @return [Hash{Symbol => Object}] the checked values, and those that only Rails and backends know
    # @raise [ConfigurationError]
    def checked(options)
      options.to_h do |name, value|
        type, = STORE[name] || RAILS[name]
        [name, type.nil? || value.nil? ? value : convert(name, type, value)]
      end
    end

    # @param kind [Symbol] of {BACKENDS}
    # @param given [Hash{Symbol => Object}] may be Strings from the query of a URL, and may contain further options
    # @return [Hash{Symbol => Object}] the checked values and defaults of all options of this kind
    # @raise [ConfigurationError]
    def values(kind, given)
      BACKENDS.fetch(kind).to_h do |name, (type, default)|
        value = given[name].nil? ? default : given[name]
        value = plain(value) unless type == :any
        [name, (convert(name, type, value) unless value.nil?)]
      end
    end

    # @param name [Symbol] an unknown option
    # @param known [Array<Symbol>]
    # @return [String, nil] what to use in its place
    def hint(name, known)
      return INSTEAD[name] if INSTEAD.key?(name)
      return "the store's, and no backend's: give it as a keyword" if known.include?(name)
      (meant = nearest(name, known)) && "did you mean #{meant}?"
    end

    # @return [String] " (did you mean ...?)", or ""
    def did_you_mean(name, known) = (meant = nearest(name, known)) ? " (did you mean #{meant}?)" : ""

    private

    def convert(name, type, value)
      converted = converted(type, value) or
        raise Tiercel::ConfigurationError,
          "#{name}: expected #{EXPECTED.fetch(type)}, got #{Tiercel::Redacted.text(value)}"
      converted.first
    end

    # @return [Array(Object), nil] the value, converted; nil if the type does not accept it
    def converted(type, value)
      valid = case type
              when :any then true
              when :switch then [true, false].include?(value)
              when :seconds then number?(value) && value.positive? && value = value.to_f
              when :window then number?(value) && value >= 0 && value = value.to_f
              when :expiry then value.is_a?(Numeric) && !value.negative?
              when :share then number?(value) && value.between?(0, 1) && value = value.to_f
              when :refresh then %i[inline background].include?(value)
              when :handler then value.respond_to?(:call)
              # Leaves space for the digest that replaces the end of a longer key.
              when :key_bytes then value == false || (value.is_a?(Integer) && value >= 40)
              when :threshold then value == 0 || value = Tiercel::Sizes.parse(value)
              when :memo then return memo(value)
              when :pool then return pool(value)
              else (value = Tiercel::Sizes.parse(value)) && value >= LEAST_BYTES.fetch(type)
              end
      [value] if valid
    end

    def number?(value) = value.is_a?(Numeric) && value.real? && value.to_f.finite?

    def memo(value)
      return [value ? MEMO_BYTES : 0] if [true, false].include?(value)
      bytes = Tiercel::Sizes.parse(value)
      [bytes] if bytes&.between?(Tiercel::Memo::LEAST_BYTES, Tiercel::Memo::MOST_BYTES)
    end

    def pool(value)
      named = value.is_a?(Hash) ? value.transform_keys(&:to_sym) : { size: (value unless value == true) }
      named = named.compact.transform_values { |part| plain(part) }
      size, timeout = { size: 5, timeout: 5.0, **named }.values_at(:size, :timeout)
      return unless (named.keys - %i[size timeout]).empty? && number?(timeout) && timeout.positive?
      return unless size == false || (size.is_a?(Integer) && size.positive?)
      [{ size: size || nil, timeout: timeout.to_f }]
    end

    # The options in a URL are Strings.
    def plain(value)
      return value unless value.is_a?(String)
      return value == "true" if %w[true false].include?(value)
      Integer(value, 10, exception: false) || Float(value, exception: false) || value
    end

    def nearest(name, known)
      DidYouMean::SpellChecker.new(dictionary: known.map(&:to_s)).correct(name.to_s).first
    end
  end
end
