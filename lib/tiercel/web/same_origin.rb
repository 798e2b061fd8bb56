# frozen_string_literal: true

require "uri"

module Tiercel
  class Web
    # Decides from the browser's headers whether this page sent a form. Credentials prove nothing, because a browser
    # adds them to the requests of any page (CVE-2020-16253).
    #
    # @private
    class SameOrigin
      DEFAULT_PORTS = { "http" => 80, "https" => 443 }.freeze
      private_constant :DEFAULT_PORTS

      # @param request [Request]
      def initialize(request)
        @request = request
      end

      # @return [Boolean]
      def holds?
        site = @request.header("Sec-Fetch-Site")
        site ? site == "same-origin" : origin_is_this_host?
      end

      private

      def origin_is_this_host?
        origin = URI.parse(@request.header("Origin").to_s)
        port = DEFAULT_PORTS[origin.scheme]
        return false if port.nil? || origin.host.nil?
        @request.hosts.any? { |host| place_of(host, port) == [origin.host.downcase, origin.port] }
      rescue URI::Error
        false
      end

      # A Host header has no scheme, so its missing port is the default port of the origin's scheme.
      def place_of(host, default_port)
        name, port = host.downcase.match(/\A(\[[\h:.]+\]|[^:\[\]]+)(?::(\d+))?\z/)&.captures
        [name, port ? port.to_i : default_port]
      end
    end
  end
end
