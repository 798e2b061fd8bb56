# frozen_string_literal: true

require "uri"
require_relative "errors"

module Tiercel
  # Where one backend is: a scheme, what follows it, and the options in the
  # query string.
  #
  #   url = BackendURL.parse("shared:app?size=256MB")
  #   url.scheme   # => "shared"
  #   url.rest     # => "app"
  #   url.options  # => { size: "256MB" }
  class BackendURL
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
      return text if text.is_a?(BackendURL)
      string = text.is_a?(Symbol) ? "#{text}:" : text.to_s
      scheme, rest, query = string.match(FORM)&.captures
      unless scheme
        raise ConfigurationError, "backend URL #{public_part(string).inspect}: expected SCHEME:..., such as " \
                                  "\"memory:\", \"shared:NAME\" or \"redis://HOST:6379/0\""
      end
      new(scheme, rest, query ? query_options(query, scheme, rest) : {})
    end

    # @param text [String] a URL, or what was meant to be one
    # @return [String] without user, password and query
    def self.public_part(text) = text.sub(%r{\A([^/]*//)(?!/).*@}m, '\1').sub(/\?.*/m, "")

    # The query may hold a password, and so does what URI says about it.
    def self.query_options(query, scheme, rest)
      URI.decode_www_form(query).to_h.transform_keys(&:to_sym)
    rescue ArgumentError
      raise ConfigurationError, "#{public_part("#{scheme}:#{rest}")}: expected options as ?NAME=VALUE&NAME=VALUE, " \
                                "with what is not ASCII percent-encoded"
    end
    private_class_method :query_options

    def initialize(scheme, rest, options = {})
      @scheme = scheme
      @rest = rest
      @options = options
    end

    # @return [String] what follows "//", or the rest itself
    def place = rest.delete_prefix("//")

    # @return [String] without user, password and query
    def to_s = self.class.public_part("#{scheme}:#{rest}")
  end
end
