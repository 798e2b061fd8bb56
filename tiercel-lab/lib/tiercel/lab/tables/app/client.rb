# frozen_string_literal: true

require "digest"
require_relative "../../engine/outcome"
require_relative "../../errors"
require_relative "../../load/connection"
require_relative "../../load/driver"
require_relative "../../load/keys"

module Tiercel
  module Lab
    module Tables
      module App
        # Asks an application for pages over several connections at once, in a process of its own.
        class Client
          FAILURES = [SystemCallError, IOError, Net::OpenTimeout, Net::ReadTimeout].freeze

          # @param url [String] of the application
          # @param path [String]
          # @param requests [Integer] of all connections together
          # @param connections [Integer]
          # @param sha256 [String, nil] that each body has to have
          # @param failures [Boolean] whether requests may fail: then they are counted
          # @return [Hash] "ns" of each request that was answered, "seconds" of all, "failed", "sha256" and "bytes" of
          #   the last body; see {Engine::Outcome.of}
          def ask(url:, path:, requests:, connections:, sha256: nil, failures: false)
            Engine::Outcome.of do
              page = Page.new(path, sha256, failures)
              share = Load::Arrivals.new(requests: requests / connections)
              parts = Load::Driver.in_threads(connections) { over_one(Load::Connection.new(url), share, page) }
              answered = parts.flat_map { |part| part[:ns] }
              { ns: answered, seconds: parts.map { |part| part[:seconds] }.max,
                failed: parts.sum { |part| part[:requests] } - answered.size,
                sha256: Digest::SHA256.hexdigest(page.body.to_s), bytes: page.body.to_s.bytesize }
            end
          end

          # @return [nil]
          def close = nil

          private

          def over_one(connection, arrivals, page)
            answered = []
            check = ->(response) { answered << page.answered?(response) }
            found = Load::Driver.new.run(arrivals, Load::Keys.new(items: 1), measure: "each", check:) do
              page.get(connection)
            end
            found.merge(ns: found[:ns].zip(answered).filter_map { |ns, answer| ns if answer })
          ensure
            connection.close
          end

          # A requested page, and the content that it must have.
          Page = Struct.new(:path, :sha256, :failures, :body) do
            # @return [Net::HTTPResponse, nil] nil for a request that failed, and may
            def get(connection)
              connection.get(path)
            rescue *FAILURES
              raise unless failures
              connection.close
              nil
            end

            # @return [Boolean]
            # @raise [WrongValue] for another page, where requests may not fail
            def answered?(response)
              wrong = response && wrong(response)
              raise WrongValue, wrong if wrong && !failures
              return false if wrong || response.nil?
              self.body = response.body
              true
            end

            private

            def wrong(response)
              return "#{path} answered #{response.code}" unless response.is_a?(Net::HTTPOK)
              return if sha256.nil? || Digest::SHA256.hexdigest(response.body) == sha256
              "#{path} answered with another body (#{response.body.bytesize} B) than without a cache"
            end
          end
          private_constant :Page
        end
      end
    end
  end
end
