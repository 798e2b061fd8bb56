# frozen_string_literal: true

# suites: metrics

require "test_helper"
require "active_support/cache/tiercel_store"
require "opentelemetry-metrics-sdk"
require "tiercel/insight"
require "yabeda"

# The sum of what Yabeda and OpenTelemetry get equals the load, for any store.
class MetricsExportsTest < Tiercel::TestCase
  def teardown = Tiercel::Insight.stop

  def load(store)
    store.fetch("a") { 1 }
    3.times { store.fetch("a") { 1 } }
    store.delete("a")
  end

  def test_yabeda_and_open_telemetry
    reader = OpenTelemetry::SDK::Metrics::Export::InMemoryMetricPullExporter.new
    OpenTelemetry::SDK.configure
    OpenTelemetry.meter_provider.add_metric_reader(reader)
    with_tmpdir do |folder|
      store = ActiveSupport::Cache::MemoryStore.new
      Tiercel::Insight.start(store, folder:)
      assert_equal %i[yabeda open_telemetry], Tiercel::Insight::Metrics.export
      Yabeda.configure!
      2.times do
        load(store)
        Yabeda.collect!
        reader.pull
      end
      assert_equal 6, Yabeda.tiercel_cache.reads.get(result: "hit")
      assert_equal 2, Yabeda.tiercel_cache.reads.get(result: "miss")
      exported = reader.metric_snapshots.flatten.select { |one| one.name == "cache.reads" }.last
      hits = exported.data_points.find { |point| point.attributes["cache.result"] == "hit" }
      assert_equal 6, hits.value
    end
  end
end
