# frozen_string_literal: true

require "active_support/security_utils"
require "digest"

# Decides which visitors may see the page: none, unless an option opens it or the application runs in development or
# test.
#
# @private
class Tiercel::Insight::Web::Access
  Response = Tiercel::Insight::Web::Response
  # Names of this machine that no external DNS entry can point here.
  LOCAL_HOST = /\A(?:(?:[a-z0-9-]+\.)*localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[\h:.]+\])(?::\d+)?\z/i
  CHALLENGE = { "www-authenticate" => 'Basic realm="Tiercel", charset="UTF-8"' }.freeze
  CLOSED = <<~TEXT
    This page is closed. Open it in config/routes.rb, with one of:

      mount Tiercel::Insight::Web.new(authenticate: ->(request) { ... }) => "/tiercel"
      mount Tiercel::Insight::Web.new(user: "...", password: "...") => "/tiercel"
      mount Tiercel::Insight::Web.new(protected_by: :routes) => "/tiercel"    # inside a constraint that authenticates
  TEXT
  UNKNOWN_HOST = "This page is open in development, but only under localhost, an IP address or a name of " \
                 "config.hosts: otherwise another site could read it through its own host name.\n"

  # @param authenticate [#call, nil]
  # @param user [String, nil]
  # @param password [String, nil]
  # @param protected_by [Symbol, nil] :routes
  # @param metrics_token [String, nil]
  # @raise [Tiercel::Insight::ConfigurationError]
  def initialize(authenticate: nil, user: nil, password: nil, protected_by: nil, metrics_token: nil)
    @authenticate = callable(authenticate)
    @user, @password = secret(:user, user), secret(:password, password)
    @by_routes = by_routes?(protected_by)
    @metrics_token = secret(:metrics_token, metrics_token)
    check_ways(authenticate:, password: user || password, protected_by:)
  end

  # @param request [Request]
  # @return [Response, nil] the refusal; nil if access is allowed
  def refusal(request)
    return if @by_routes
    return by_application(request) if @authenticate
    return by_password(request) if @user && @password
    return Response.text(403, CLOSED) unless local?
    Response.text(403, UNKNOWN_HOST) unless rails.env.test? || known_host?(request)
  end

  # @param request [Request]
  # @return [Response, nil] the refusal of `/metrics`; nil if access is allowed
  def metrics_refusal(request)
    return if @metrics_token && same?(bearer(request), @metrics_token)
    refusal(request)
  end

  private

  def check_ways(**ways)
    ways = ways.compact.keys
    refuse("#{ways.join(", ")}: expected only one of them, because each opens the page") if ways.size > 1
  end

  def refuse(text) = raise(Tiercel::Insight::ConfigurationError, text)

  def by_application(request)
    Response.text(403, "Not authenticated.\n") unless @authenticate.call(request.for_application)
  end

  def by_password(request) = (Response.text(401, "Not authenticated.\n", CHALLENGE) unless basic?(request))

  def callable(object)
    return object if object.nil? || object.respond_to?(:call)
    refuse("authenticate: expected a callable such as ->(request) { ... }, got #{object.class}")
  end

  # A missing environment variable leaves the page closed.
  def secret(name, text)
    return if text.nil? || text == ""
    return text if text.is_a?(String)
    refuse("#{name}: expected a String, got #{text.class}")
  end

  def by_routes?(value)
    return value == :routes if [nil, :routes].include?(value)
    refuse("protected_by: expected :routes, got #{Tiercel::Insight::Text.redacted(value.inspect)}")
  end

  def rails = (Rails if defined?(Rails) && Rails.respond_to?(:env) && Rails.env.respond_to?(:local?))

  def local? = rails&.env&.local? || false

  # If another site's DNS points to this machine, that site's pages have the same origin and could read this page.
  def known_host?(request)
    request.hosts.all? { |host| LOCAL_HOST.match?(host) } || permitted_by_rails?(request)
  end

  def permitted_by_rails?(request)
    return false unless defined?(ActionDispatch::HostAuthorization)
    hosts = rails.application.config.hosts
    return false if hosts.empty? # the application checks no hosts then
    ActionDispatch::HostAuthorization.new(->(_env) { [204, {}, []] }, hosts).call(request.env.dup).first == 204
  end

  def basic?(request)
    scheme, encoded = request.header("Authorization").to_s.split(" ", 2)
    return false unless scheme&.casecmp?("basic") && encoded
    user, password = encoded.unpack1("m").split(":", 2)
    same?(user, @user) & same?(password, @password)
  end

  def bearer(request) = request.header("Authorization").to_s[/\ABearer +(\S+)\z/i, 1]

  # Takes a time that reveals neither length nor content.
  def same?(given, expected)
    ActiveSupport::SecurityUtils.fixed_length_secure_compare(Digest::SHA256.digest(given.to_s),
                                                             Digest::SHA256.digest(expected))
  end
end
