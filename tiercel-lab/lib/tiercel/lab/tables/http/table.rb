# frozen_string_literal: true

require "uri"
require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # Compares whole requests with two cache configurations.
      module Http
        class Table < Tables::Table
          called "http", "Whole requests: two URLs, or one application under two caches."
          example "http http://127.0.0.1:3000/books http://127.0.0.1:3001/books",
                  "http config.ru --config redis_cache_store --config shared:myapp",
                  "http app.ru --path /products --config null_store --config memory: --quick"
          takes :quick, :seed

          # Requests to a side in half a block.
          REQUESTS = 40
          QUICK_REQUESTS = 15

          def self.usage = "URL_A URL_B | APP.ru"

          def options(parser)
            parser.separator("    URL_A URL_B: two pages; or APP.ru, a Rack application of yours")
            parser.on("--config TEXT",
                      "for the application, twice: what it finds in TIERCEL_LAB_CACHE; {folder} in it " \
                                       "is a folder of the run's own") { |text| (@configs ||= []) << text }
            parser.on("--path PATH", "of the application (/)") { |path| @path = path }
            fact parser, "--requests N", "in half a block (#{REQUESTS})", :requests, :count
            parser.on("--any-body", "bodies may differ (a token, a clock); statuses may not") { @any_body = true }
          end

          def accept(rest)
            return take_application(rest.first) if rest.one? && !rest.first.match?(%r{\Ahttps?://})
            unless rest.size == 2
              raise UsageError, "#{["http", *rest].join(" ")}: expected two URLs, or one file such as app.ru; the " \
                                "application that comes with the lab is measured by app"
            end
            raise UsageError, "--config is for an application, #{rest.first} is a URL" if @configs
            raise UsageError, "--path is for an application, #{rest.first} is a URL" if @path
            @labels = rest.each { |url| check_url(url) }
          end

          # Requests of small pages take about this long; slow pages take longer.
          def expected_seconds = trial.expected_seconds + (settings.quick ? 5.0 : 20.0)

          def plan_in_words
            what = @app ? "#{@app} with #{@labels.join(" and ")}" : @labels.join(" and ")
            "#{what}: #{protocol.processes} fresh processes x #{protocol.blocks} blocks x #{2 * requests} requests " \
              "to each, and to the first once more, about #{Report::Format.minutes(expected_seconds)}."
          end

          def take(_comparisons)
            run.try(trial, trial.expected_seconds)
            run.table("requests", trial.rows, app: @app && File.basename(@app), path: @path || "/", requests:,
                                              any_body: @any_body || false)
          end

          private

          # The user chose every row, so a row that cannot run fails the command.
          def asked_in_vain?(row) = row["status"] == Engine::Outcome::CANNOT_RUN

          def take_application(app)
            raise UsageError, "http #{app}: there is no such file" unless File.file?(app)
            @app = app
            @labels = @configs || []
            raise UsageError, "http #{app}: expected --config twice, got #{@labels.size}" unless @labels.size == 2
          end

          def check_url(text)
            uri = URI.parse(text)
            return if uri.is_a?(URI::HTTP) && uri.host
            raise UsageError, "http #{text}: expected an http:// or https:// URL"
          rescue URI::InvalidURIError
            raise UsageError, "http #{text}: not a URL"
          end

          def requests = facts_given[:requests] || (settings.quick ? QUICK_REQUESTS : REQUESTS)

          def trial
            @trial ||= Trial.new(@labels, app: @app, path: @path || "/", any_body: @any_body || false, protocol:,
                                          requests:, seed: settings.seed)
          end
        end
      end

      add Http::Table
    end
  end
end
