# frozen_string_literal: true

# The address of one backend: a scheme, the part that follows it, and the options in the query string.
#
#   url = BackendURL.parse("shared:app?size=256MB")
#   url.scheme   # => "shared"
#   url.rest     # => "app"
#   url.options  # => { size: "256MB" }
class Tiercel::BackendURL
  # Names of other stores that users write in place of a URL.
  STORES = {
    "memory_store" => "memory:", "null_store" => "null:", "file_store" => "file:DIR",
    "mem_cache_store" => "memcached://HOST:11211", "redis_cache_store" => "redis://HOST:6379/0",
    "solid_cache_store" => "sqlite:PATH", "litecache" => "sqlite:PATH", "memory" => "memory:", "null" => "null:",
    "file" => "file:DIR", "sqlite" => "sqlite:PATH", "shared" => "shared:NAME", "redis" => "redis://HOST:6379/0",
    "memcached" => "memcached://HOST:11211",
  }.freeze
  PORTS = 1..65_535
  # The address in brackets or the host, and the port.
  HOST_AND_PORT = /\A(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?\z/
  # A server's address without a scheme. The port shows the kind of server.
  ADDRESS = %r{\A(?:localhost|[\w-]+(?:\.[\w-]+)+|\[[^\]]+\]):(6379|6380|11211)(?=[,/]|\z)}
  SCHEMES = { "6379" => "redis://", "6380" => "rediss://", "11211" => "memcached://" }.freeze
  private_constant :STORES, :PORTS, :HOST_AND_PORT, :ADDRESS, :SCHEMES
  FORM = /\A([a-z][a-z0-9+.-]*):(.*?)(?:\?(.*))?\z/m

  # @return [String] lower case, without the colon
  attr_reader :scheme
  # @return [String] everything between the scheme's colon and the query ("//host:11211", "/path", "NAME", "")
  attr_reader :rest
  # @return [Hash{Symbol => String}] the query string's options
  attr_reader :options

  # @param text [String, Symbol] a URL, or a bare scheme (:memory)
  # @return [BackendURL]
  # @raise [ConfigurationError] if it has no scheme
  def self.parse(text)
    return text if text.is_a?(Tiercel::BackendURL)
    refuse_mistaken(text)
    string = text.is_a?(Symbol) ? "#{text}:" : text.to_s
    scheme, rest, query = string.match(FORM)&.captures
    port = string[ADDRESS, 1]
    if scheme.nil? || port
      text = Tiercel::Redacted.url(string)
      meant = port ? SCHEMES[port] + text : STORES[text.delete_suffix(":")]
      raise Tiercel::ConfigurationError, "backend URL #{text.inspect}: expected SCHEME:..., such as \"memory:\", " \
                                         "\"shared:NAME\" or \"redis://HOST:6379/0\"" \
                                         "#{" (did you mean #{meant.inspect}?)" if meant}"
    end
    new(scheme, rest, query ? query_options(query, scheme, rest) : {})
  end

  # @private Arguments for other stores, given in place of a URL, may contain a password.
  # @raise [ConfigurationError] for a Hash, an Array or an empty value
  def self.refuse_mistaken(url)
    if url.nil? || url == ""
      raise Tiercel::ConfigurationError,
        "backend URL #{url.inspect}: expected SCHEME:..., such as \"redis://HOST:6379/0\": " \
        "is an environment variable not set? Write ENV.fetch(\"REDIS_URL\"), or give no " \
        "URL at all for \"shared:\""
    end
    return unless url.is_a?(Hash) || url.is_a?(Array)
    raise Tiercel::ConfigurationError,
      "expected a backend URL, such as \"redis://HOST:6379/0\", and options as keywords, " \
      "got #{Tiercel::Redacted.text(url)}"
  end

  # @param url [#to_s] the URL, for the error message; without a password
  # @param text [String] "HOST", "HOST:PORT", "[ADDRESS]" or "[ADDRESS]:PORT"
  # @param default [Integer] the port if the text has none
  # @return [Array(String, Integer), nil] host and port; nil for another text
  # @raise [ConfigurationError] for an impossible port
  def self.host_and_port(url, text, default)
    address, host, port = text.match(HOST_AND_PORT)&.captures
    host = address || host or return
    port = (port || default).to_i
    return [host, port] if PORTS.cover?(port)
    raise Tiercel::ConfigurationError, "#{url}: port #{port}: expected #{PORTS.min} to #{PORTS.max}"
  end

  # The query may contain a password, and URI's error message quotes the query.
  def self.query_options(query, scheme, rest)
    require "uri" # here, because most stores do not need it
    URI.decode_www_form(query).to_h.transform_keys(&:to_sym)
  rescue ArgumentError
    raise Tiercel::ConfigurationError,
      "#{Tiercel::Redacted.url("#{scheme}:#{rest}")}: expected options as ?NAME=VALUE&NAME=VALUE, " \
      "with what is not ASCII percent-encoded"
  end
  private_class_method :query_options

  # @param scheme [String] the scheme of the URL, such as "redis"
  # @param rest [String] everything after the scheme's colon, without the query
  # @param options [Hash{Symbol => Object}] the options in the query
  def initialize(scheme, rest, options = {})
    @scheme = scheme
    @rest = rest
    @options = options
  end

  # @return [String] the part after "//", or the whole rest if there is no "//"
  def place = rest.delete_prefix("//")

  # @return [String] the URL without user, password and query
  def to_s = Tiercel::Redacted.url("#{scheme}:#{rest}")

  # @return [String] class and URL, without user, password and query
  def inspect = "#<#{self.class.name} #{self}>"
end
