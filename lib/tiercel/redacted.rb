# frozen_string_literal: true

module Tiercel
  # The part of a caller's value that may appear in a message: enough to find
  # the mistake, and no password, wherever the caller has put it.
  #
  # @private
  module Redacted
    # Their `inspect` says nothing that a caller did not mean to show.
    SHOWN = [NilClass, TrueClass, FalseClass, Numeric, Symbol, Module, Range, Time].freeze
    private_constant :SHOWN

    # Up to the last "@": what follows "//"; what follows the scheme where "//" was forgotten, unless it is a path.
    CREDENTIALS = %r{\A(?:([^/]*//)(?!/).*|([a-z][a-z0-9+.-]*:|)(?:(?!/)[^/]*|/[^/]*:[^/]*))@}mi
    private_constant :CREDENTIALS

    # @param text [String] a URL, or what was meant to be one
    # @return [String] without user, password and query
    def self.url(text)
      text = text.b.scrub unless text.valid_encoding?
      text.sub(CREDENTIALS, '\1\2').sub(/\?.*/m, "")
    end

    # @param value [Object]
    # @return [String] of a String what {.url} leaves, of an Array or a Hash what is no text in it, of
    #   other objects the class
    def self.text(value)
      case value
      when String then url(value).inspect
      when Array then "[#{value.map { |member| within(member) }.join(", ")}]"
      when Hash then "{#{value.map { |key, member| "#{name(key)}: #{within(member)}" }.join(", ")}}"
      when ->(object) { defined?(URI::Generic) && object.is_a?(URI::Generic) } then text(value.to_s)
      when *SHOWN then value.inspect
      else "#<#{value.class}>"
      end
    end

    # @param options [Hash{Symbol => Object}] named as they should be, so that a text is what its name says
    # @return [String]
    def self.options(options) = "{#{options.map { |name, value| "#{name}: #{text(value)}" }.join(", ")}}"

    def self.within(member) = member.is_a?(String) ? "..." : text(member)
    private_class_method :within

    def self.name(key) = key.is_a?(Symbol) || key.is_a?(String) ? key : text(key)
    private_class_method :name
  end
end
