# frozen_string_literal: true

require "rack"
require "securerandom"

# A response of the page, with headers that stop browsers from running or framing content of other origins.
#
# @private
class Tiercel::Insight::Web::Response
  HEADERS = {
    "cache-control" => "no-store", "cross-origin-opener-policy" => "same-origin",
    "cross-origin-resource-policy" => "same-origin", "referrer-policy" => "same-origin",
    "x-content-type-options" => "nosniff", "x-frame-options" => "DENY", "x-robots-tag" => "noindex, nofollow"
  }.freeze
  # Rack 2 looks headers up by their capitalized names, and so does Rails on Rack 2.
  CAPITALIZED = Gem::Version.new(::Rack.release) < Gem::Version.new("3")

  class << self
    # @param status [Integer]
    # @param text [String]
    # @param headers [Hash{String => String}]
    # @return [Response]
    def text(status, text, headers = {}, type: "text/plain")
      new(status, text, { "content-type" => "#{type}; charset=utf-8", "content-security-policy" => policy(nil),
                          **headers })
    end

    # @yieldparam nonce [String] the nonce for the page's own style and script
    # @yieldreturn [String]
    # @return [Response]
    def page
      nonce = SecureRandom.urlsafe_base64(18)
      text(200, yield(nonce), { "content-security-policy" => policy(nonce) }, type: "text/html")
    end

    private

    def policy(nonce)
      own = nonce ? ["script-src 'nonce-#{nonce}'", "style-src 'nonce-#{nonce}'", "connect-src 'self'",
                     "img-src data:"] : []
      ["default-src 'none'", *own, "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"].join("; ")
    end
  end

  # @param status [Integer]
  # @param body [String]
  # @param headers [Hash{String => String}]
  def initialize(status, body, headers)
    @status = status
    @body = String.new(body) # a plain String, never a SafeBuffer
    @headers = headers
  end

  # @param head [Boolean] whether to omit the body
  # @return [Array] the Rack response
  def to_rack(head: false)
    headers = { **HEADERS, **@headers, "content-length" => @body.bytesize.to_s }
    headers.transform_keys! { |name| name.split("-").map(&:capitalize).join("-") } if CAPITALIZED
    [@status, headers, head ? [] : [@body]]
  end
end
