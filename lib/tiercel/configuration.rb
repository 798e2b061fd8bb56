# frozen_string_literal: true

# Validates the URLs and options of a store before anything is started, and builds the store's parts from them.
class Tiercel::Configuration
  # Options of the store itself. All others belong to Rails or to the backend.
  STORE_OPTIONS = Tiercel::Options::STORE.keys.freeze

  # Options that Rails accepts as defaults for a store's calls.
  RAILS_OPTIONS = (ActiveSupport::Cache::UNIVERSAL_OPTIONS +
                   %i[raw max_key_size expires_at version force unless_exist]).uniq.freeze

  # @return [BackendURL] the URL of the only backend, or of the last tier
  def url = @places.url

  # @param urls [Array<String, Symbol>]
  # @param options [Hash{Symbol => Object}]
  # @raise [ConfigurationError] for invalid URLs and options
  def initialize(urls, options)
    @options = options.transform_keys(&:to_sym)
    # Rails' Dockerfile sets this variable for `assets:precompile`, which lacks production's variables and volumes.
    unless ENV["SECRET_KEY_BASE_DUMMY"].to_s.empty?
      urls = ["memory:"]
      @options = @options.slice(*STORE_OPTIONS, *RAILS_OPTIONS)
    end
    @places = Tiercel::Places.new(urls)
    check_option_names
    @options = Tiercel::Options.checked(@options)
    check_coder_options
    @policy = Tiercel::FetchPolicy.new(@options)
  end

  # @return [FetchPolicy] the policy for misses in `fetch`
  attr_reader :policy

  # @return [Hash] options for ActiveSupport::Cache::Store#initialize, without the names of serializers and compressors.
  #   Rails' coder reads payloads of every format
  def rails_options
    own = %i[serializer compressor].select { |name| [NilClass, Symbol, String].include?(@options[name].class) }
    @options.slice(*RAILS_OPTIONS).except(:max_key_size, *own)
  end

  # @return [Backend]
  def build_backend
    bounds = frozen_values? ? { memo: Tiercel::Memo::FROZEN_BYTES } : {}
    @places.build(@options, bounds)
  end

  # @return [Cipher, nil]
  attr_reader :cipher

  # @return [Boolean] whether the application passes its own coder
  def coder? = @options.key?(:coder)

  # @param backend [Backend] provides the defaults for missing options
  # @param rails_coder [#load] the coder that Rails built from {#rails_options}
  # @return [Coder]
  def frame_coder(backend, rails_coder)
    Tiercel::Coder.new(**@options.slice(:serializer, :compressor), marshal: marshal?, cipher: @cipher, rails_coder:,
                       checksum: @options.fetch(:checksum, backend.checksum?))
  end

  # @return [Hash{Symbol => Object}] arguments for {Guard#initialize}
  def guard_options = { error_handler: @options[:error_handler], breaker: @options.fetch(:breaker, true),
                      log_keys: @options[:log_keys] == true }

  # @return [Integer, false] bytes; false for no limit
  def max_key_size
    limit = @options[:max_key_size]
    limit.nil? ? Tiercel::Options::RAILS[:max_key_size].last : limit # Rails 8.1 applies memcached's limit to all stores
  end

  # @param backend [Backend] provides the default
  # @return [Integer] minimum payload size in bytes for compression
  def compress_threshold(backend)
    default = backend.compress_threshold_bytes unless @options.key?(:compress)
    @options[:compress_threshold] || default || Tiercel::Options::RAILS[:compress_threshold].last
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
      refuse(unknown + in_url, place.url, place.option_names, known) if in_url.any?
    end
    refuse(unknown, @places, @places.option_names, known) if unknown.any?
    @places.check_owners(@options)
  end

  def refuse(unknown, place, own, known)
    hints = unknown.uniq.to_h { |name| [name, Tiercel::Options.hint(name, known + own)] }
    lists = "\nThis backend knows #{list(own)}.\nEvery store knows #{list(known)}." unless hints.values.all?
    raise Tiercel::ConfigurationError, "unknown option #{unknown.map(&:inspect).join(", ")} for #{place}, got " \
                                       "#{unknown.map { |name| given(name, place) }.join(", ")}" \
                                       "#{hints.compact.map { |name, hint| ". #{name}: #{hint}" }.join}#{lists}"
  end

  # Quotes only values that look like a size: any other text may be a password under a misspelt name.
  def given(name, place)
    value = @options.fetch(name) { place.options[name] if place.is_a?(Tiercel::BackendURL) }
    value.is_a?(String) && Tiercel::Sizes.parse(value).nil? ? "a String" : Tiercel::Redacted.text(value)
  end

  def list(names) = names.empty? ? "none of its own" : names.uniq.sort.map(&:inspect).join(", ")

  def check_coder_options
    @cipher = Tiercel::Cipher.build(@options[:encrypt]) if @options[:encrypt]
    return unless @options.key?(:coder)
    raise Tiercel::ConfigurationError,
      "encrypt: and coder: contradict each other: a coder writes its own bytes" if @cipher
    both = %i[serializer compressor].find { |name| @options[name] }
    raise Tiercel::ConfigurationError, "cannot specify :#{both} and :coder options together: a coder does both" if both
    return if @options[:coder].nil? || marshal?
    raise Tiercel::ConfigurationError,
      "marshal: false and coder: contradict each other: a coder alone decides what it " \
      "loads. Leave one of them out"
  end
end
