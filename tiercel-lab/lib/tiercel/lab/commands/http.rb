# frozen_string_literal: true

require "uri"
require_relative "../documents/http"
require_relative "../http/trial"
require_relative "../table_command"

module Tiercel
  module Lab
    module Commands
      # Whole requests under two cache configurations.
      class Http < TableCommand
        called "http", "Whole requests: two URLs, or one Rack application under two cache configurations."
        example "http http://127.0.0.1:3000/books http://127.0.0.1:3001/books",
                "http config.ru --config redis_cache_store --config shared:myapp",
                "http app.ru --path /products --config null_store --config memory: --quick", "http"

        # What is measured where nothing is named: a page of 50 fragments, rendered each time, and from the cache.
        SAMPLE = File.expand_path("../../../../examples/app.ru", __dir__)
        SAMPLE_CONFIGS = ["null_store", "shared:{folder}/segment"].freeze
        # For a side in half a block.
        REQUESTS = 40
        QUICK_REQUESTS = 15

        def self.document(results, command:) = Documents::Http.new(results, command:).build

        def options(parser)
          parser.separator("    URL_A URL_B                      two pages; or APP.ru, a Rack application (none: a " \
                           "page of ours)")
          parser.on("--config TEXT", "for the application, twice: what it finds in TIERCEL_LAB_CACHE;",
                    "{folder} in it is a folder of the run's own") { |text| (@configs ||= []) << text }
          parser.on("--path PATH", "of the application (/)") { |path| @path = path }
          parser.on("--requests N", Integer, "in half a block (#{REQUESTS})") { |count| @requests = positive(count) }
          parser.on("--any-body", "bodies may differ (a token, a clock); statuses may not") { @any_body = true }
        end

        def accept(rest)
          return take_application(rest.first || SAMPLE) if rest.size < 2 && !rest.first.to_s.match?(%r{\Ahttps?://})
          unless rest.size == 2
            raise UsageError, "http #{rest.join(" ")}: expected two URLs, or one file such as app.ru"
          end
          raise UsageError, "--config is for an application, #{rest.first} is a URL" if @configs
          @labels = rest.each { |url| check_url(url) }
        end

        # Requests take what the pages take; of ours, these.
        def expected_seconds = trial.expected_seconds + (settings.quick ? 5.0 : 20.0)

        def take(_comparisons)
          session.watch(trial.expected_seconds) { |progress| trial.run(progress) }
          session.recorder.table("requests", trial.rows, app: @app && File.basename(@app), path: @path || "/",
                                                         requests:, any_body: @any_body || false)
        end

        def exit_code
          states = results["tables"].flat_map { |table| table["rows"] }.map { |row| row["status"] }
          return ExitCodes::WRONG_VALUES if states.intersect?(["misses", "wrong values"])
          states.include?("cannot run") ? ExitCodes::UNDECIDED : ExitCodes::OK
        end

        private

        def plan_in_words
          what = @app ? "#{@app} with #{@labels.join(" and ")}" : @labels.join(" and ")
          protocol = settings.protocol
          "#{what}: #{protocol.processes} fresh processes x #{protocol.blocks} blocks x #{2 * requests} requests to " \
            "each, and to the first once more."
        end

        def take_application(app)
          raise UsageError, "http #{app}: there is no such file" unless File.file?(app)
          @app = app
          @labels = @configs || (app == SAMPLE ? SAMPLE_CONFIGS : [])
          return if @labels.size == 2
          raise UsageError, "http #{app}: expected --config twice, got #{@labels.size}"
        end

        def check_url(text)
          uri = URI.parse(text)
          raise UsageError, "http #{text}: expected an http:// or https:// URL" unless uri.is_a?(URI::HTTP) && uri.host
        rescue URI::InvalidURIError
          raise UsageError, "http #{text}: not a URL"
        end

        def positive(count) = count.positive? ? count : raise(UsageError, "--requests #{count}: expected 1 or more")

        def requests = @requests || (settings.quick ? QUICK_REQUESTS : REQUESTS)

        def trial
          @trial ||= Lab::Http::Trial.new(@labels, app: @app, path: @path || "/", any_body: @any_body || false,
                                                   protocol: settings.protocol, requests:, seed: settings.seed)
        end
      end

      add Http
    end
  end
end
