# frozen_string_literal: true

require "rbconfig"
require_relative "../servers"

module Tiercel
  module Lab
    module Load
      # A Rack application with one cache configuration, in a process of its own.
      class AppServer < Servers::Server
        # A Rails application takes a long time to start.
        START_SECONDS = 60
        SERVE = File.expand_path("serve.rb", __dir__)

        def self.program = "ruby"
        def self.executable = RbConfig.ruby

        # @param app [String] path of a config.ru
        # @param config [String] the application's variable TIERCEL_LAB_CACHE
        # @param path [String] path of the requests
        # @param options see {Servers::Server#initialize}
        def initialize(app:, config:, path: "/", **options)
          super(**options)
          @app = File.expand_path(app)
          @config = config
          @path = path
        end

        # @return [String]
        def url = "http://#{HOST}:#{port}#{@path}"

        # @return [String]
        def to_s = "#{File.basename(@app)} with #{@config} at #{url}"

        private

        def arguments = [*("--yjit" if defined?(RubyVM::YJIT)), SERVE, @app, HOST, port.to_s, @config]

        # That somebody listens: a request would fill caches.
        def ask_version = exchange("") { "listening" }
      end
    end
  end
end
