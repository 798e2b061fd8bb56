# frozen_string_literal: true

require "json"
require "open3"
require "rbconfig"

module Tiercel
  module Generators
    # Boots the application in a child process, in production mode, as an asset build does: with
    # SECRET_KEY_BASE_DUMMY=1 and without the environment variables that the new statement reads. The child stops once
    # the cache is built, so it neither runs config/initializers nor connects to a database.
    #
    # @private
    class DummyBoot
      PROBE = File.expand_path("probe.rb", __dir__)
      # The line with the child's result; the application may print other lines.
      ANSWER = /^tiercel:install (\{.*\})$/
      LAST_LINES = 5
      private_constant :PROBE, :ANSWER, :LAST_LINES

      # @param root [String] the application's folder
      def initialize(root)
        @root = root
      end

      # @param file [String] a file in config/environments
      # @param text [String] the new content of that file
      # @param statements [Array<String>] the cache statements in the text
      # @return [Hash{String => Object}] "error" with the reason if the application does not boot with the text;
      #   "missing" with the message if a gem is not installed
      def check(file, text, statements)
        run({ file: File.expand_path(file, @root), text:, statements: }, without: variables(statements))
      end

      # @return [Hash{String => Object}] see {SolidCacheSettings}; "error" with the reason if they cannot be
      #   determined
      def solid_cache = run({ solid_cache: true })

      private

      # Environment variables that a statement reads but does not require: `ENV["X"]`, `ENV.fetch("X", "...")`.
      def variables(statements)
        statements.flat_map { |text| text.scan(/\bENV(?:\[|\.fetch\()["'](\w+)["'](?:\]|,|\)\s*\{)/) }.flatten
      end

      # In ASCII, because the child reads in the encoding of the locale.
      def run(task, without: [])
        task = JSON.generate(task, ascii_only: true)
        out, err, = Open3.capture3(environment(without), RbConfig.ruby, PROBE, chdir: @root, stdin_data: task)
        answer = out[ANSWER, 1]
        answer ? JSON.parse(answer) : { "error" => (err.empty? ? out : err).lines.last(LAST_LINES).join.strip }
      end

      def environment(without)
        { "RAILS_ENV" => "production", "RACK_ENV" => nil, "SECRET_KEY_BASE_DUMMY" => "1", "DISABLE_SPRING" => "1",
          **without.to_h { |name| [name, nil] } }
      end
    end
  end
end
