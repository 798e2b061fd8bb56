# frozen_string_literal: true

require "rack"
require "uri"

module Tiercel
  class Web
    # A request to the page. Keys are encoded as URL-safe base64, because a key may contain any bytes and a form sends
    # only UTF-8. The names of these parameters end in "_key", because Rails by default filters such values from its
    # log.
    #
    # @private
    class Request
      # Raised for a query or a form that cannot be parsed.
      BadRequest = Class.new(Error)
      MAX_QUERY_BYTES = 8_192
      MAX_BODY_BYTES = 65_536
      FORM = "application/x-www-form-urlencoded"

      # @param key [String] any bytes
      # @return [String]
      def self.encode_key(key) = [key].pack("m0").tr("+/", "-_").delete("=")

      # @return [Hash{String => Object}] the Rack environment
      attr_reader :env

      # @param env [Hash{String => Object}] the Rack environment
      def initialize(env)
        @env = env
        @rack = ::Rack::Request.new(env)
      end

      # @return [String] for example "/keys"; "/" for the page's root
      def path
        path = @env["PATH_INFO"].to_s
        path.empty? ? "/" : path
      end

      # @return [String] the path at which the page is mounted, "" for the root
      def base
        path = @env["SCRIPT_NAME"].to_s.gsub(/[^!-~]/, "").squeeze("/").chomp("/")
        path.empty? || path.start_with?("/") ? path : "/#{path}"
      end

      def get? = @env["REQUEST_METHOD"] == "GET" || head?
      def head? = @env["REQUEST_METHOD"] == "HEAD"
      def post? = @env["REQUEST_METHOD"] == "POST"

      # @return [Boolean]
      def too_large?
        @env["QUERY_STRING"].to_s.bytesize > MAX_QUERY_BYTES || @env["CONTENT_LENGTH"].to_i > MAX_BODY_BYTES
      end

      # @return [Boolean] whether the body is an HTML form without files
      def form? = @rack.media_type == FORM

      # @param name [String]
      # @return [String] the value in the query or the form; "" if it is missing
      # @raise [BadRequest]
      def [](name)
        value = parameters[name]
        value.is_a?(String) ? value.dup.force_encoding(Encoding::UTF_8) : ""
      end

      # @return [String] the key or tag that the parameter "entry_key" encodes
      # @raise [BadRequest]
      def key
        key = self["entry_key"].tr("-_", "+/").unpack1("m").force_encoding(Encoding::UTF_8)
        key.empty? ? raise(BadRequest, "its key is empty") : key
      end

      # @return [Array<String>] the host names that the client and the proxies used
      def hosts = [header("Host").to_s, *header("X-Forwarded-Host").to_s.split(",").map(&:strip)]

      # @param name [String] for example "Origin"
      # @return [String, nil] the header's value, as bytes
      def header(name) = @env["HTTP_#{name.upcase.tr("-", "_")}"]&.b

      # @return [String, nil]
      def remote_ip = @env["action_dispatch.remote_ip"]&.to_s || @rack.ip

      # @return [Rack::Request] the request in the class that an application's code expects
      def for_application = defined?(ActionDispatch::Request) ? ActionDispatch::Request.new(@env) : @rack

      private

      def parameters
        @parameters ||= post? ? @rack.POST : @rack.GET
      rescue StandardError => error # Rack raises a dozen error classes
        raise BadRequest, "its #{post? ? "form" : "query"} cannot be parsed (#{error.class})"
      end
    end
  end
end
