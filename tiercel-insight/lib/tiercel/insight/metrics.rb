# frozen_string_literal: true

# Exports the figures of a cache to monitoring systems.
#
#   Tiercel::Insight::Metrics.to_prometheus    # of the machine; scrape one process
#   Tiercel::Insight::Metrics.export           # to Yabeda and OpenTelemetry, in every process; Rails calls it at boot
#
# docs/insight.md lists names and units.
module Tiercel::Insight::Metrics
  # A counter: its name, the figure in {Figures#totals}, its unit (nil: a count), constant labels, a description.
  Definition = Struct.new(:name, :figure, :unit, :labels, :text)
  DEFINITIONS = [
    Definition.new("reads", :hits, nil, { result: "hit" }, "Reads of the cache, by result"),
    Definition.new("reads", :misses, nil, { result: "miss" }, "Reads of the cache, by result"),
    Definition.new("writes", :writes, nil, {}, "Writes to the cache"),
    Definition.new("deletes", :deletes, nil, {}, "Deletes in the cache"),
    Definition.new("computations", :blocks, nil, {}, "Misses that were computed, in fetch or in a view"),
    Definition.new("computation", :block_seconds, :seconds, {}, "Time that computing misses took")
  ].freeze
  # Classes of keys with labels of their own.
  CLASSES = 50
  ESCAPES = { "\\" => "\\\\", "\"" => "\\\"", "\n" => "\\n" }.freeze

  class << self
    # The totals of all processes on this machine, in Prometheus' text format 0.0.4. Scrape one process of each machine:
    # all of them return the same totals.
    #
    # @param store [ActiveSupport::Cache::Store]
    # @return [String]
    def to_prometheus(store = Tiercel::Insight.collector&.store)
      figures = Tiercel::Insight.figures
      totals = figures.totals
      lines = metric("info", "gauge", "The version and the store",
                     [[{ version: Tiercel::Insight::VERSION, store: store.class.name }, 1]])
      DEFINITIONS.group_by(&:name).each_value do |same|
        name = [same.first.name, same.first.unit, "total"].compact.join("_")
        lines += metric(name, "counter", same.first.text, same.map { |one| [one.labels, totals[one.figure]] })
      end
      lines += of_classes(figures) + of_audit(figures)
      "#{lines.join("\n")}\n"
    end

    # From now on exports this process' increments to Yabeda and OpenTelemetry, if they are loaded.
    #
    # @return [Array<Symbol>] the active exporters: `:yabeda`, `:open_telemetry`
    def export
      [(to_yabeda if defined?(::Yabeda::DSL)), (to_open_telemetry if defined?(::OpenTelemetry::Metrics))].compact
    end

    private

    def of_classes(figures)
      classes = figures.classes(CLASSES)
      metric("class_misses", "gauge", "Computed misses of a class of keys in the last 12 to 24 hours",
             classes.map { |one| [{ class: one[:name] }, one[:misses]] }) +
        metric("class_seconds", "gauge", "Time of these misses",
               classes.map { |one| [{ class: one[:name] }, one[:seconds]] })
    end

    def of_audit(figures)
      stale = figures.audit.select { |one| one["status"] == "stale" }
      counts = stale.group_by { |one| one.slice("class") }.transform_values { |all| all.sum { |one| one["count"] } }
      metric("stale_values_total", "counter", "Hits that the audit found to be stale", counts)
    end

    def metric(name, type, text, samples)
      return [] if samples.empty?
      ["# HELP tiercel_cache_#{name} #{text}", "# TYPE tiercel_cache_#{name} #{type}",
       *samples.map { |labels, value| "tiercel_cache_#{name}#{braces(labels)} #{value}" }]
    end

    def braces(labels)
      return if labels.empty?
      pairs = labels.map do |name, value|
        "#{name}=\"#{Tiercel::Insight::Text.printable(value.to_s).gsub(/[\\"\n]/, ESCAPES)}\""
      end
      "{#{pairs.join(",")}}"
    end

    def to_yabeda
      increments = Increments.new
      counters = @declared ? [] : DEFINITIONS.uniq(&:name)
      @declared = true
      ::Yabeda.configure do
        group :tiercel_cache do
          counters.each { |one| counter one.name.to_sym, unit: one.unit, comment: one.text, tags: one.labels.keys }
        end
        collect do
          increments.each { |one, more| ::Yabeda.tiercel_cache.public_send(one.name).increment(one.labels, by: more) }
        end
      end
      :yabeda
    end

    # The Ruby SDK adds up the values that callbacks of observable counters return, so every collection after the first
    # would count everything again. Therefore plain counters are used. An observable gauge without values updates them
    # whenever a reader collects.
    def to_open_telemetry
      increments = Increments.new
      meter = ::OpenTelemetry.meter_provider.meter("tiercel-insight", version: Tiercel::Insight::VERSION)
      counters = {}
      update = lambda do
        increments.each do |one, more|
          counters.fetch(one.name).add(more, attributes: one.labels.transform_keys { |name| "cache.#{name}" })
        end
        nil
      end
      meter.create_observable_gauge("cache.exports", unit: "1", description: "Updates the counters", callback: update)
      DEFINITIONS.uniq(&:name).each do |one|
        name = one.unit ? "cache.#{one.name}.duration" : "cache.#{one.name}"
        counters[one.name] = meter.create_counter(name, unit: one.unit ? "s" : "1", description: one.text)
      end
      :open_telemetry
    end
  end

  # The growth of this process' figures since the last call.
  class Increments
    def initialize
      @lock = Mutex.new
      @before = {}
    end

    # @yieldparam definition [Definition]
    # @yieldparam more [Integer, Float] > 0
    # @return [void]
    def each
      figures = Tiercel::Insight.collector&.figures or return
      @lock.synchronize do
        before = @before[Process.pid] ||= Hash.new(0)
        DEFINITIONS.each do |one|
          more = figures[one.figure] - before[one.figure]
          next unless more.positive?
          before[one.figure] = figures[one.figure]
          yield one, more
        end
      end
    end
  end
end
