# frozen_string_literal: true

require "digest"
require "net/http"
require_relative "../../engine/outcome"

module Tiercel
  module Lab
    module Tables
      module App
        # Asks an application for pages over several connections at once, in a process of its own.
        class Client
          TIMEOUT_SECONDS = 30
          HEADERS = { "Accept-Encoding" => "identity", "User-Agent" => "tiercel-lab" }.freeze

          # @param url [String] of the application
          # @param path [String]
          # @param requests [Integer] of all connections together
          # @param connections [Integer]
          # @param sha256 [String, nil] that each body has to have
          # @param failures [Boolean] whether requests may fail: then they are counted
          # @return [Hash] "ns" of each request, "seconds" of all, "failed", "sha256" and "bytes" of the last body; see
          #   {Engine::Outcome.of}
          def ask(url:, path:, requests:, connections:, sha256: nil, failures: false)
            Engine::Outcome.of do
              started = now
              parts = Array.new(connections) do
                Thread.new do
                  Thread.current.report_on_exception = false
                  Connection.new(URI(url), path, sha256, failures).ask(requests / connections)
                end
              end.map(&:value)
              { ns: parts.flat_map(&:ns), seconds: (now - started) / 1e9, failed: parts.sum(&:failed),
                sha256: Digest::SHA256.hexdigest(parts.last.body.to_s), bytes: parts.last.body.to_s.bytesize }
            end
          end

          # @return [nil]
          def close = nil

          def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

          # One connection, which is kept until a request fails.
          class Connection
            # @return [Array<Integer>] nanoseconds of each request that was answered with 200
            attr_reader :ns
            # @return [Integer]
            attr_reader :failed
            # @return [String, nil] the last one
            attr_reader :body

            def initialize(uri, path, sha256, failures)
              @uri = uri
              @path = path
              @sha256 = sha256
              @failures = failures
              @ns = []
              @failed = 0
            end

            # @return [self]
            def ask(requests)
              requests.times { request }
              self
            ensure
              @http&.finish if @http&.started?
            end

            private

            def request
              http = @http ||= connect
              started = now
              response = http.request(Net::HTTP::Get.new(@path, HEADERS))
              taken = now - started
              check(response)
              @body = response.body
              @ns << taken
            rescue SystemCallError, IOError, Net::OpenTimeout, Net::ReadTimeout, WrongValue
              raise unless @failures
              @failed += 1
              @http = nil
            end

            def connect
              http = Net::HTTP.new(@uri.host, @uri.port)
              http.open_timeout = http.read_timeout = TIMEOUT_SECONDS
              http.keep_alive_timeout = TIMEOUT_SECONDS
              http.max_retries = 0 # a request that was sent twice would be timed once
              http.start
            end

            def check(response)
              raise WrongValue, "#{@path} answered #{response.code}" unless response.is_a?(Net::HTTPOK)
              return if @sha256.nil? || Digest::SHA256.hexdigest(response.body) == @sha256
              raise WrongValue, "#{@path} answered with another body (#{response.body.bytesize} B) than without a cache"
            end

            def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
          end
        end
      end
    end
  end
end
