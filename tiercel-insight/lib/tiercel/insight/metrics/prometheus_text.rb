# frozen_string_literal: true

require_relative "definitions"

module Tiercel
  module Metrics
    # The account of a store in Prometheus' text format.
    #
    # @private
    class PrometheusText
      # Maximum number of key classes with their own labels.
      CLASSES = 50
      GAUGES = { entries: ["entries", "Entries in the tier"], bytes: ["bytes", "Bytes used by the tier's entries"],
                 size_bytes: ["size_bytes", "Maximum bytes of the tier"] }.freeze
      ESCAPES = { "\\" => "\\\\", "\"" => "\\\"", "\n" => "\\n" }.freeze
      private_constant :CLASSES, :GAUGES, :ESCAPES

      # @param store [ActiveSupport::Cache::TiercelStore]
      def initialize(store)
        @store = store
        @account = store.account
      end

      # @return [String]
      def to_s
        @lines = []
        totals = @account.totals
        metric("info", "gauge", "The version, and the scope of these metrics",
               [[{ scope: totals[:scope], version: VERSION }, 1]])
        OF_STORE.each { |definition| counter(definition, [[{}, totals[definition.figure]]]) }
        of_tiers(totals[:tiers])
        gauges
        classes
        "#{@lines.join("\n")}\n"
      end

      private

      def of_tiers(tiers)
        OF_TIER.group_by(&:name).each_value do |definitions|
          samples = tiers.flat_map do |tier, figures|
            definitions.map { |definition| [{ tier:, **definition.tags }, figures[definition.figure]] }
          end
          counter(definitions.first, samples)
        end
      end

      def gauges
        stats = @store.stats or return
        tiers = stats[:tiers] || { @store.backend.to_s => stats }
        GAUGES.each do |figure, (name, text)|
          samples = tiers.filter_map { |tier, figures| [{ tier: }, figures[figure]] if figures&.fetch(figure, nil) }
          metric("tier_#{name}", "gauge", text, samples)
        end
      end

      def classes
        costs = @account.classes(:day, limit: CLASSES)
        metric("class_misses_total", "counter", "Misses of a class of keys",
               costs.map { |cost| [{ class: cost[:name] }, cost[:total_misses]] })
        metric("class_block_seconds_total", "counter", "Time of the blocks that ran for a class of keys",
               costs.map { |cost| [{ class: cost[:name] }, cost[:total_seconds]] })
      end

      def counter(definition, samples)
        metric([definition.name, definition.unit, "total"].compact.join("_"), "counter", definition.text, samples)
      end

      def metric(name, type, text, samples)
        return if samples.empty?
        @lines << "# HELP tiercel_#{name} #{text}" << "# TYPE tiercel_#{name} #{type}"
        samples.each { |labels, value| @lines << "tiercel_#{name}#{braces(labels)} #{value}" }
      end

      def braces(labels)
        return if labels.empty?
        "{#{labels.map { |name, value| "#{name}=\"#{escaped(value.to_s)}\"" }.join(",")}}"
      end

      def escaped(value)
        value.dup.force_encoding(Encoding::UTF_8).scrub("?").gsub(/[\\"\n]/, ESCAPES).gsub(/[[:cntrl:]]/, "?")
      end
    end
  end
end
