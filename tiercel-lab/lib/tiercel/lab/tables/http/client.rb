# frozen_string_literal: true

require "digest"
require "net/http"
require_relative "../../engine/outcome"

module Tiercel
  module Lab
    module Tables
      module Http
        # Asks for pages over connections that are kept, in a process of its own.
        class Client
          # Requests before anything is timed; YJIT compiles at the 30th call.
          WARM_UP = 40
          # How long they may take.
          WARM_UP_SECONDS = 5.0
          TIMEOUT_SECONDS = 30
          # Bodies are compared as they are sent.
          HEADERS = { "Accept-Encoding" => "identity", "User-Agent" => "tiercel-lab" }.freeze

          # One page.
          Page = Struct.new(:http, :path, :status, :body)

          def initialize
            @pages = {}
          end

          # Asks once, timed: nothing has been asked for before. Then warms up.
          #
          # @param id [String]
          # @param url [String]
          # @return [Hash] "http_status", "bytes", "sha256", "first_ns"; see {Engine::Subject.outcome}
          def open(id:, url:)
            outcome do
              page = @pages[id] = connect(URI(url))
              ns, response = timed(page)
              unless response.is_a?(Net::HTTPSuccess)
                raise WrongValue, "#{url} answered #{response.code} #{response.message}"
              end
              page.status, page.body = response.code, response.body
              warm_up(page)
              { http_status: page.status, bytes: page.body.bytesize, sha256: Digest::SHA256.hexdigest(page.body),
                first_ns: ns }
            end
          end

          # @param id [String]
          # @param requests [Integer]
          # @param any_body [Boolean] whether bodies may differ from the first (a CSRF token, a clock)
          # @return [Hash] "ns" of each request
          def ask(id:, requests:, any_body: false)
            outcome do
              page = @pages.fetch(id)
              ns = Array.new(requests) do
                taken, response = timed(page)
                check(page, response, any_body)
                taken
              end
              { ns: }
            end
          end

          # @return [nil]
          def close
            @pages.each_value { |page| page.http.finish if page.http.started? }
            @pages.clear
            nil
          end

          private

          def outcome(&)
            found = Engine::Outcome.of(&)
            if found["status"] == "cannot run"
              found.merge("reason" => found["reason"].sub(/\ASocketError: |\AErrno::\w+: /, ""))
            else
              found
            end
          end

          def connect(uri)
            http = Net::HTTP.new(uri.host, uri.port)
            http.use_ssl = uri.scheme == "https"
            http.open_timeout = http.read_timeout = TIMEOUT_SECONDS
            http.keep_alive_timeout = TIMEOUT_SECONDS
            http.max_retries = 0 # a request that was sent twice would be timed once
            Page.new(http.start, uri.request_uri)
          end

          def warm_up(page)
            deadline = now + (WARM_UP_SECONDS * 1e9)
            WARM_UP.times { break if now > deadline; timed(page) }
          end

          # From the first byte sent to the last one read; a new request each time, as applications make them.
          def timed(page)
            request = Net::HTTP::Get.new(page.path, HEADERS)
            started = now
            response = page.http.request(request)
            [now - started, response]
          end

          def check(page, response, any_body)
            unless response.code == page.status
              raise WrongValue, "#{page.path} answered #{response.code}, before it was #{page.status}"
            end
            return if any_body || response.body == page.body
            raise WrongValue, "#{page.path} answered with another body than at first; --any-body where it has to differ"
          end

          def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
        end
      end
    end
  end
end
