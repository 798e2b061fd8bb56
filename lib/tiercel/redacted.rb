# frozen_string_literal: true

# Reduces a caller's value to the part that may appear in a message. The part helps to find the mistake, and contains
# no password, even if the caller put the password in the wrong place.
#
# @private
module Tiercel::Redacted
  # Classes whose `inspect` contains no secret.
  SHOWN = [NilClass, TrueClass, FalseClass, Numeric, Symbol, Module, Range, Time].freeze
  private_constant :SHOWN

  # Matches everything up to the last "@". This part follows "//", or the scheme if "//" is missing and the rest is not
  # a path.
  CREDENTIALS = %r{\A(?:([^/]*//)(?!/).*|([a-z][a-z0-9+.-]*:|)(?:(?!/)[^/]*|/[^/]*:[^/]*))@}mi
  private_constant :CREDENTIALS

  # @param text [String] a URL, or a mistaken one
  # @return [String] the URL without user, password and query
  def self.url(text)
    text = text.b.scrub unless text.valid_encoding?
    text.sub(CREDENTIALS, '\1\2').sub(/\?.*/m, "")
  end

  # @param value [Object]
  # @return [String] for a String the result of {.url}, for an Array or a Hash its elements without texts, for other
  #   objects the class
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

  # @param options [Hash{Symbol => Object}] options with valid names, because the name decides whether a text is
  #   secret
  # @return [String]
  def self.options(options) = "{#{options.map { |name, value| "#{name}: #{text(value)}" }.join(", ")}}"

  def self.within(member) = member.is_a?(String) ? "..." : text(member)
  private_class_method :within

  def self.name(key) = key.is_a?(Symbol) || key.is_a?(String) ? key : text(key)
  private_class_method :name
end
