# frozen_string_literal: true

require "test_helper"
require "tiercel"
require "yabeda"
require "yabeda/test_adapter"
require "opentelemetry-metrics-sdk"

# The exports to other gems, in a separate process, because those gems keep their registrations.
class ExportsTest < Tiercel::TestCase
  PROCESSES = 4

  def in_a_process(&)
    fork_and_wait(1, &).first
  end

  def open_telemetry
    ENV.update("OTEL_METRICS_EXPORTER" => "none", "OTEL_TRACES_EXPORTER" => "none", "OTEL_LOGS_EXPORTER" => "none")
    OpenTelemetry::SDK.configure
    OpenTelemetry::SDK::Metrics::Export::InMemoryMetricPullExporter.new.tap do |exporter|
      OpenTelemetry.meter_provider.add_metric_reader(exporter)
    end
  end

  def pulled(exporter)
    exporter.reset
    exporter.pull
    exporter.metric_snapshots.flatten.to_h do |metric|
      [metric.name, [metric.unit, metric.data_points.sum(&:value)]]
    end
  end

  def work(store, number = 0)
    3.times { |index| store.fetch("key:#{number}-#{index}") { "value" } }
    5.times { store.read("key:#{number}-0") }
  end

  def test_open_telemetry_gets_each_call_once
    with_tmpdir do |dir|
      first, second, third = in_a_process do
        exporter = open_telemetry
        store = Tiercel.new("shared:#{dir}/segment")
        work(store)
        Tiercel::Metrics.export(store)
        found = [pulled(exporter)]
        found << pulled(exporter)
        store.read("key:0-0")
        found << pulled(exporter)
      end
      assert_equal [["1", 5], ["1", 3]], first.values_at("tiercel.hits", "tiercel.misses")
      assert_equal first, second
      assert_equal ["1", 6], third["tiercel.hits"]
      assert_equal "s", first["tiercel.block.duration"].first
      assert_empty(first.keys.grep(/total/))
    end
  end

  def test_yabeda_gets_each_call_once
    with_tmpdir do |dir|
      counts = in_a_process do
        Yabeda.register_adapter(:test, Yabeda::TestAdapter.instance)
        store = Tiercel.new("shared:#{dir}/segment")
        work(store)
        Tiercel::Metrics.export(store)
        Yabeda.configure! unless Yabeda.configured?
        2.times { Yabeda.collect! }
        store.read("key:0-0")
        Yabeda.collect!
        Yabeda::TestAdapter.instance.counters.to_h do |counter, values|
          [counter.name, [counter.unit, values.values.sum]]
        end
      end
      assert_equal [[nil, 6], [nil, 3], [nil, 3]], counts.values_at(:hits, :misses, :tier_writes)
      assert_equal :seconds, counts[:block].first
    end
  end

  def test_the_exports_of_several_processes_add_up
    with_tmpdir do |dir|
      store = Tiercel.new("shared:#{dir}/segment")
      work(store, PROCESSES) # before the fork, so not exported
      counts = fork_and_wait(PROCESSES) do |number|
        exporter = open_telemetry
        Tiercel::Metrics.export(store)
        work(store, number)
        pulled(exporter).values_at("tiercel.hits", "tiercel.misses").map(&:last)
      end
      assert_equal [[5, 3]] * PROCESSES, counts
    ensure
      store&.close
    end
  end
end
