# frozen_string_literal: true

require_relative "metrics/definitions"
require_relative "metrics/prometheus_text"

module Tiercel
  # Figures of a store for systems that watch it.
  #
  #   Tiercel::Metrics.to_prometheus          # the machine's totals, for a scrape of one process
  #   Tiercel::Metrics.export(Rails.cache)    # to Yabeda and OpenTelemetry, from every process; Rails does it at boot
  #
  # Names and units are in docs/observability.md.
  module Metrics
    autoload :Increments, File.expand_path("metrics/increments", __dir__)
    autoload :OpenTelemetry, File.expand_path("metrics/open_telemetry", __dir__)
    autoload :Yabeda, File.expand_path("metrics/yabeda", __dir__)

    class << self
      # The totals of all processes of this machine (or of this process, where `tiercel_info` says so) in Prometheus'
      # text format 0.0.4. Scrape one process of each machine: the others say the same.
      #
      # @param store [ActiveSupport::Cache::TiercelStore]
      # @return [String]
      # @raise [ConfigurationError] for a store of another class
      def to_prometheus(store = rails_cache) = PrometheusText.new(tiercel(store)).to_s

      # Exports what this process does from now on to Yabeda and to OpenTelemetry, as far as they are loaded. Each
      # process exports its own increments, so the exports of all processes add up to the load.
      #
      # @param store [ActiveSupport::Cache::TiercelStore]
      # @return [Array<Symbol>] to which: `:yabeda`, `:open_telemetry`
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
