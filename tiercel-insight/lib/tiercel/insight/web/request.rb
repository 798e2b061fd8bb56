# frozen_string_literal: true

require "rack"

# A request to the page.
#
# @private
class Tiercel::Insight::Web::Request < ::Rack::Request
  # @return [String] "/" for the page, "/metrics" for Prometheus
  def path = path_info.empty? ? "/" : path_info

  # @return [String] the path at which the page is mounted, "" for the root
  def base
    path = script_name.gsub(/[^!-~]/, "").squeeze("/").chomp("/")
    path.empty? || path.start_with?("/") ? path : "/#{path}"
  end

  def get? = super || head?

  # @return [Boolean] whether the page shows the last day instead of the last hour
  def day? = query_string.b.split("&").include?("period=day")

  # @return [Array<String>] the host names that the client and the proxies used
  def hosts = [header("Host").to_s, *header("X-Forwarded-Host").to_s.split(",").map(&:strip)]

  # @param name [String] for example "Origin"
  # @return [String, nil] the header's value, as bytes
  def header(name) = get_header("HTTP_#{name.upcase.tr("-", "_")}")&.b

  # @return [Rack::Request] the request in the class that an application's code expects
  def for_application
    defined?(ActionDispatch::Request) ? ActionDispatch::Request.new(env) : ::Rack::Request.new(env)
  end
end
