# frozen_string_literal: true

require "net/http"

module Tiercel
  module Lab
    module Load
      # A persistent HTTP connection.
      class Connection
        TIMEOUT_SECONDS = 30
        # Asks for uncompressed bodies, which can be compared byte by byte.
        HEADERS = { "Accept-Encoding" => "identity", "User-Agent" => "tiercel-lab" }.freeze

        # @param url [String]
        def initialize(url)
          @uri = URI(url)
        end

        # Opens the connection unless it is open.
        #
        # @return [self]
        def open = tap { @http ||= connect }

        # @param path [String]
        # @return [Net::HTTPResponse] with its whole body
        def get(path = @uri.request_uri)
          open
          @http.request(Net::HTTP::Get.new(path, HEADERS))
        end

        # Closes the connection; the next request opens another one.
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
