# frozen_string_literal: true

require "digest"
require_relative "../../engine/outcome"
require_relative "../../load/connection"
require_relative "../../load/driver"
require_relative "../../load/keys"

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

          # One page.
          Page = Struct.new(:connection, :url, :status, :body)

          def initialize
            @pages = {}
          end

          # Asks once, timed: nothing has been asked for before. Then warms up.
          #
          # @param id [String]
          # @param url [String]
          # @return [Hash] "http_status", "bytes", "sha256", "first_ns"; see {Engine::Outcome.of}
          def open(id:, url:)
            outcome do
              page = @pages[id] = Page.new(Load::Connection.new(url).open, url)
              response = nil
              ns = timed(page, 1) { |found| response = found }.first
              unless response.is_a?(Net::HTTPSuccess)
                raise WrongValue, "#{url} answered #{response.code} #{response.message}"
              end
              page.status, page.body = response.code, response.body
              deadline = now + WARM_UP_SECONDS
              WARM_UP.times { page.connection.get if now < deadline }
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
              { ns: timed(page, requests) { |response| check(page, response, any_body) } }
            end
          end

          # @return [nil]
          def close
            @pages.each_value { |page| page.connection.close }
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

          # @yieldparam response [Net::HTTPResponse] outside of what is timed
          # @return [Array<Integer>] ns of each request
          def timed(page, requests, &check)
            arrivals = Load::Arrivals.new(requests:)
            Load::Driver.new.run(arrivals, Load::Keys.new(items: 1), measure: "each", check:) { page.connection.get }
                            .fetch(:ns)
          end

          def check(page, response, any_body)
            unless response.code == page.status
              raise WrongValue, "#{page.url} answered #{response.code}, before it was #{page.status}"
            end
            return if any_body || response.body == page.body
            raise WrongValue, "#{page.url} answered with another body than at first; --any-body where it has to differ"
          end

          def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        end
      end
    end
  end
end
