# frozen_string_literal: true

require "rails/railtie"

module Tiercel
  # Loads the rake tasks into a Rails application, and checks again for patches of other gems once all gems are
  # loaded.
  class Railtie < Rails::Railtie
    config.after_initialize do
      Store::FastPath::Patches.recheck if defined?(Store::FastPath)
    end

    config.after_initialize do
      ActiveSupport::Reloader.before_class_unload { Memo.clear_all } if defined?(Memo)
    end

    # Exports metrics if Yabeda or OpenTelemetry's metrics are loaded.
    config.after_initialize do
      watched = defined?(::Yabeda::DSL) || defined?(::OpenTelemetry::Metrics)
      Metrics.export(Rails.cache) if watched && Rails.cache.respond_to?(:account)
    end

    # The newest Rails version that the test suites run on.
    NEWEST_RAILS = Gem::Version.new("8.2")

    config.after_initialize { Rails.logger&.warn(note_on_rails) if Rails.env.development? && note_on_rails }

    # @private
    # @return [String, nil] a log line, if Rails is newer than the tested versions
    def self.note_on_rails(version = ActiveSupport.gem_version)
      return if (version.segments.first(2) <=> NEWEST_RAILS.segments) <= 0
      "Tiercel: Rails #{version} is newer than the newest tested version (#{NEWEST_RAILS})"
    end

    config.tiercel = ActiveSupport::OrderedOptions.new
    # Whether parallel test processes use separate caches (docs/application-tests.md).
    config.tiercel.separate_test_workers = true

    # Runs before the application's cache is built.
    initializer "tiercel.test_workers", before: :initialize_cache do |application|
      if Rails.env.test? && application.config.tiercel.separate_test_workers
        require_relative "test_worker/hooks"
        TestWorker::Hooks.watch
      end
    end

    rake_tasks { load File.expand_path("../tasks/tiercel.rake", __dir__) }
  end
end
