# frozen_string_literal: true

require "net/http"

module Tiercel
  module Lab
    module Load
      # An HTTP connection that is kept between requests.
      class Connection
        TIMEOUT_SECONDS = 30
        # Bodies are compared as they are sent.
        HEADERS = { "Accept-Encoding" => "identity", "User-Agent" => "tiercel-lab" }.freeze

        # @param url [String]
        def initialize(url)
          @uri = URI(url)
        end

        # Opens it, where it is not open.
        #
        # @return [self]
        def open = tap { @http ||= connect }

        # @param path [String]
        # @return [Net::HTTPResponse] read to its end
        def get(path = @uri.request_uri)
          open
          @http.request(Net::HTTP::Get.new(path, HEADERS))
        end

        # The next request opens another one.
        def close
          @http&.finish if @http&.started?
        ensure
          @http = nil
        end

        private

        def connect
          http = Net::HTTP.new(@uri.host, @uri.port)
          http.use_ssl = @uri.scheme == "https"
          http.open_timeout = http.read_timeout = TIMEOUT_SECONDS
          http.keep_alive_timeout = TIMEOUT_SECONDS
          http.max_retries = 0 # a request that was sent twice would be timed once
          http.start
        end
      end
    end
  end
end
