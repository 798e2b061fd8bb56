# frozen_string_literal: true

require "digest"
require_relative "../engine/outcome"
require_relative "../errors"
require_relative "connection"
require_relative "driver"
require_relative "keys"

module Tiercel
  module Lab
    module Load
      # Requests pages of an application, in a process of its own. Every answer is an {Engine::Outcome}.
      class Pages
        # Errors of a request that may fail.
        FAILURES = [SystemCallError, IOError, Net::OpenTimeout, Net::ReadTimeout].freeze
        # Requests before anything is timed; YJIT compiles at the 30th call.
        WARM_UP = 40
        WARM_UP_SECONDS = 5.0

        def initialize
          @kept = {}
        end

        # Opens a connection that later requests share, requests the page once, then warms up.
        #
        # @param id [String] id of the connection
        # @param url [String]
        # @return [Hash] the first request's figures; see {#ask}
        def open(id:, url:)
          outcome do
            connection = @kept[id] = Connection.new(url).open
            first = requested(-> { connection }, 1, 1, Page.new(url))
            deadline = now + WARM_UP_SECONDS
            WARM_UP.times { connection.get if now < deadline }
            first
          end
        end

        # Requests a page again and again.
        #
        # @param url [String] URL of the page, or of the application if `path` is given
        # @param id [String, nil] id of an open connection; nil: the requests open their own connections
        # @param path [String, nil]
        # @param requests [Integer] number of requests of all connections together
        # @param connections [Integer] number of concurrent connections
        # @param sha256 [String, nil] digest that every body must have
        # @param failures [Boolean] whether requests may fail; they are counted
        # @return [Hash] "ns" of each request with an answer, "seconds" of all, "failed"; "http_status", "sha256" and
        #   "bytes" of the last answer
        def ask(url:, requests:, id: nil, path: nil, connections: 1, sha256: nil, failures: false)
          connect = -> { id ? @kept.fetch(id) : Connection.new(url) }
          outcome { requested(connect, requests, connections, Page.new(url, path, sha256, failures)) }
        end

        # @return [nil]
        def close
          @kept.each_value(&:close)
          @kept.clear
          nil
        end

        private

        # The class of an error is for programmers; the user knows the address.
        def outcome(&)
          found = Engine::Outcome.of(&)
          found["reason"] ? found.merge("reason" => found["reason"].sub(/\A(SocketError|Errno::\w+): /, "")) : found
        end

        # @param connect [#call] returns a connection
        def requested(connect, requests, connections, page)
          arrivals = Arrivals.new(requests: requests / connections)
          parts = Driver.in_threads(connections) { over_one(connect.call, arrivals, page) }
          answered = parts.flat_map { |part| part[:ns] }
          { ns: answered, seconds: parts.map { |part| part[:seconds] }.max,
            failed: parts.sum { |part| part[:requests] } - answered.size, **page.answer }
        end

        def over_one(connection, arrivals, page)
          answered = []
          check = ->(response) { answered << page.answered?(response) }
          found = Driver.new.run(arrivals, Keys.new(items: 1), measure: "each", check:) { page.get(connection) }
          found.merge(ns: found[:ns].zip(answered).filter_map { |ns, answer| ns if answer })
        ensure
          connection.close unless @kept.value?(connection)
        end

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

        # A requested page, and the content that it must have.
        Page = Struct.new(:url, :path, :sha256, :failures, :last) do
          # @return [Net::HTTPResponse, nil] nil for a request that failed, and may
          def get(connection)
            connection.get(*path)
          rescue *FAILURES
            raise unless failures
            connection.close
            nil
          end

          # @return [Boolean]
          # @raise [WrongValue] for another page, unless requests may fail
          def answered?(response)
            wrong = response && wrong(response)
            raise WrongValue, wrong if wrong && !failures
            return false if wrong || response.nil?
            self.last = response
            true
          end

          # @return [Hash{Symbol => Object}]
          def answer
            body = last&.body.to_s
            { http_status: last&.code, sha256: Digest::SHA256.hexdigest(body), bytes: body.bytesize }
          end

          private

          def wrong(response)
            return "#{url}#{path} answered #{response.code} #{response.message}" unless response.is_a?(Net::HTTPSuccess)
            return if sha256.nil? || Digest::SHA256.hexdigest(response.body) == sha256
            "#{url}#{path} answered with another body (#{response.body.bytesize} B) than at first"
          end
        end
        private_constant :Page
      end
    end
  end
end
