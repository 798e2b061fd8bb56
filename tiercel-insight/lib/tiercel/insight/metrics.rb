# frozen_string_literal: true

require_relative "metrics/definitions"
require_relative "metrics/prometheus_text"

module Tiercel
  # Exports a store's metrics to monitoring systems.
  #
  #   Tiercel::Metrics.to_prometheus          # totals of the machine; scrape one process
  #   Tiercel::Metrics.export(Rails.cache)    # to Yabeda and OpenTelemetry, in every process; Rails calls it at boot
  #
  # docs/observability.md lists names and units.
  module Metrics
    autoload :Increments, File.expand_path("metrics/increments", __dir__)
    autoload :OpenTelemetry, File.expand_path("metrics/open_telemetry", __dir__)
    autoload :Yabeda, File.expand_path("metrics/yabeda", __dir__)

    class << self
      # The totals of all processes on this machine, in Prometheus' text format 0.0.4. Scrape one process of each
      # machine: all of them return the same totals. If `tiercel_info` says so, the totals cover this process only.
      #
      # @param store [ActiveSupport::Cache::TiercelStore]
      # @return [String]
      # @raise [ConfigurationError] for a store of another class
      def to_prometheus(store = rails_cache) = PrometheusText.new(tiercel(store)).to_s

      # From now on exports this process' metrics to Yabeda and OpenTelemetry, if they are loaded. Each process
      # exports its own increments, so the sum over all processes is the total load.
      #
      # @param store [ActiveSupport::Cache::TiercelStore]
      # @return [Array<Symbol>] the active exporters: `:yabeda`, `:open_telemetry`
      # @raise [ConfigurationError] for a store of another class
      def export(store = rails_cache)
        account = tiercel(store).account
        done = []
        done << :yabeda if defined?(::Yabeda::DSL) && Yabeda.install(account)
        done << :open_telemetry if defined?(::OpenTelemetry::Metrics) && OpenTelemetry.install(account)
        done
      end

      private

      def rails_cache
        return Rails.cache if defined?(Rails) && Rails.respond_to?(:cache)
        raise ConfigurationError, "metrics: expected a store, since there is no Rails.cache"
      end

      def tiercel(store)
        return store if store.respond_to?(:account)
        raise ConfigurationError, "metrics: expected a Tiercel store, got #{store.class}"
      end
    end
  end
end
