# frozen_string_literal: true

require "active_support/cache"

module Tiercel
  # Validates the URLs and options of a store before anything is started, and builds the store's parts from them.
  class Configuration
    # Options of the store itself. All others belong to Rails or to the backend.
    STORE_OPTIONS = (%i[serializer compressor marshal checksum inflate_limit error_handler breaker log_keys
                        encrypt frozen] + FetchPolicy::NAMES).freeze

    # Options that Rails accepts as defaults for a store's calls.
    RAILS_OPTIONS = (ActiveSupport::Cache::UNIVERSAL_OPTIONS +
                     %i[raw max_key_size expires_at version force unless_exist]).uniq.freeze

    # The limit of Rails 8.1, which applies memcached's limit to all stores.
    DEFAULT_MAX_KEY_BYTES = 250
    # Leaves space for the digest that replaces the end of a longer key (":hash:" and 32 or 64 hex digits).
    LEAST_MAX_KEY_BYTES = 40

    # Rails' names for its own serializers, for applications that keep their options when they migrate.
    SERIALIZER_ALIASES = { marshal_7_0: :marshal, marshal_7_1: :marshal }.freeze

    # @return [BackendURL] the URL of the only backend, or of the last tier
    def url = @places.url

    # @param urls [Array<String, Symbol>]
    # @param options [Hash{Symbol => Object}]
    # @raise [ConfigurationError] for invalid URLs and options
    def initialize(urls, options)
      @options = options.transform_keys(&:to_sym)
      urls, @options = AssetBuild.stand_in(urls, @options, STORE_OPTIONS + RAILS_OPTIONS)
      @places = Places.new(urls)
      check_option_names
      check_switches
      check_frozen
      check_coder_options
      check_times
      check_max_key_size
      @policy = FetchPolicy.new(@options)
    end

    # @return [FetchPolicy] the policy for misses in `fetch`
    attr_reader :policy

    # @return [Hash] options for ActiveSupport::Cache::Store#initialize. Coder and serializer are objects, so Rails
    #   validates the combination without looking up our names.
    def rails_options
      rails = @options.slice(*RAILS_OPTIONS).except(:max_key_size, :serializer, :compressor)
      rails[:serializer] = serializer if @options[:serializer]
      rails[:compressor] = @options[:compressor] if @options.key?(:compressor) && !compressor_named?
      rails
    end

    # @return [Backend]
    def build_backend
      bounds = frozen_values? ? { memo: Memo::FROZEN_BYTES } : {}
      @places.build({ **@options, **inflate_limit }, bounds)
    end

    # @return [Cipher, nil]
    attr_reader :cipher

    # @return [Boolean] whether the application passes its own coder
    def coder? = @options.key?(:coder)

    # @param backend [Backend] provides the defaults for missing options
    # @return [Coder]
    def frame_coder(backend)
      Coder.new(serializer: serializer, compressor: compressor, marshal: marshal?, cipher: @cipher,
                checksum: @options.fetch(:checksum, backend.checksum?), **inflate_limit)
    end

    # @return [Hash{Symbol => Object}] arguments for {Guard#initialize}
    def guard_options = { error_handler: @options[:error_handler], breaker: @options.fetch(:breaker, true),
                        log_keys: @options[:log_keys] == true }

    # @return [Integer, false] bytes; false for no limit
    def max_key_size
      limit = @options[:max_key_size]
      limit.nil? ? DEFAULT_MAX_KEY_BYTES : limit
    end

    # @param backend [Backend] provides the default
    # @return [Integer] minimum payload size in bytes for compression
    # @raise [ConfigurationError] if the option is not a size
    def compress_threshold(backend)
      threshold = @options[:compress_threshold]
      return threshold if threshold == 0
      return Sizes.bytes(threshold, option: :compress_threshold) if threshold
      default = backend.compress_threshold_bytes unless @options.key?(:compress)
      default || ActiveSupport::Cache::DEFAULT_COMPRESS_LIMIT
    end

    # @return [Boolean] whether values are compressed by default
    def compress? = @options.fetch(:compress, true) ? true : false

    # @return [Numeric, nil] seconds
    def race_condition_ttl = @options[:race_condition_ttl]

    # @return [Boolean] whether values of plain types are returned deep-frozen
    def frozen_values? = @options[:frozen] ? true : false

    # @return [String] names of the options without their values, which may be secret
    def inspect = "#<#{self.class.name} #{@places} #{@options.keys.inspect}>"

    # @return [Boolean] whether Marshal may load values
    def marshal? = @options.fetch(:marshal, true)

    # @return [Boolean] whether `ssl:` enables TLS, in the options or in the last URL
    def tls?
      ssl = url.options.fetch(:ssl) { @options[:ssl] }
      !ssl.nil? && ssl.to_s != "false"
    end

    private

    def check_option_names
      known = STORE_OPTIONS + RAILS_OPTIONS + ActiveSupport::Cache::OPTION_ALIASES.values.flatten
      unknown = @options.keys - known - @places.option_names
      @places.all.each do |place|
        in_url = place.url.options.keys - place.option_names
        refuse(unknown, @places, @places.option_names, known) unless in_url.any? || unknown.empty?
        refuse(unknown + in_url, place.url, place.option_names, known) unless in_url.empty?
      end
      @places.check_owners(@options)
    end

    def refuse(unknown, place, own, known)
      GoneOptions.refuse(unknown)
      hints = OptionHints.for(unknown, known + own, tiers: @places.all.size > 1, near: own.include?(:bus))
      raise ConfigurationError, "unknown option #{unknown.map(&:inspect).join(", ")} for #{place}, " \
                                "got #{unknown.map { |name| given(name, place) }.join(", ")}#{hints}\n" \
                                "This backend knows #{list(own)}.\nEvery store knows #{list(known)}."
    end

    # Quotes only values that look like a size: any other text may be a password under a misspelt name.
    def given(name, place)
      value = @options.fetch(name) { place.options[name] if place.is_a?(BackendURL) }
      value.is_a?(String) && Sizes.parse(value).nil? ? "a String" : Redacted.text(value)
    end

    def list(names) = names.empty? ? "none of its own" : names.uniq.sort.map(&:inspect).join(", ")

    def check_coder_options
      @cipher = Cipher.build(@options[:encrypt]) if @options[:encrypt]
      return unless @options.key?(:coder)
      raise ConfigurationError, "encrypt: and coder: contradict each other: a coder writes its own bytes" if @cipher
      both = %i[serializer compressor].find { |name| @options[name] }
      raise ConfigurationError, "cannot specify :#{both} and :coder options together: a coder does both" if both
      return if @options[:coder].nil? || marshal?
      raise ConfigurationError, "marshal: false and coder: contradict each other: a coder alone decides what it " \
                                "loads. Leave one of them out"
    end

    def check_switches
      %i[marshal log_keys checksum].each do |name|
        value = @options[name]
        next if value.nil? || value == true || value == false
        raise ConfigurationError, "#{name}: expected true or false, got #{Redacted.text(value)}"
      end
    end

    def check_frozen
      value = @options[:frozen]
      return if [nil, true, false].include?(value)
      raise ConfigurationError, "frozen: expected true or false, got #{Redacted.text(value)}; memo: bounds what is kept"
    end

    # Checks durations now; Rails would check them only in each call.
    def check_times
      %i[expires_in expire_in expired_in race_condition_ttl].each do |name|
        value = @options[name]
        next if value.nil? || (value.is_a?(Numeric) && !value.negative?)
        raise ConfigurationError, "#{name}: expected seconds (a Numeric or an ActiveSupport::Duration, at least 0), " \
                                  "got #{Redacted.text(value)}"
      end
    end

    def check_max_key_size
      value = @options[:max_key_size]
      return if value.nil? || value == false || (value.is_a?(Integer) && value >= LEAST_MAX_KEY_BYTES)
      raise ConfigurationError, "max_key_size: expected bytes (Integer, at least #{LEAST_MAX_KEY_BYTES}), or false " \
                                "for no limit, got #{Redacted.text(value)}"
    end

    def serializer
      name = @options.fetch(:serializer, nil) || :auto
      return name unless name.is_a?(Symbol) || name.is_a?(String)
      Serializers::REGISTRY.fetch(SERIALIZER_ALIASES.fetch(name.to_sym, name))
    end

    def compressor
      return Compressors.default unless @options.key?(:compressor)
      choice = @options[:compressor] || :none
      choice.is_a?(Symbol) || choice.is_a?(String) ? Compressors::REGISTRY.fetch(choice) : choice
    end

    # Accepts a name, or a name with options: `[:zstd, { level: 3 }]`.
    def compressor_named?
      case @options[:compressor]
      when Symbol, String, Array then true
      else false
      end
    end

    def inflate_limit
      limit = @options[:inflate_limit]
      limit ? { inflate_limit: Sizes.bytes(limit, option: :inflate_limit) } : {}
    end
  end
end
