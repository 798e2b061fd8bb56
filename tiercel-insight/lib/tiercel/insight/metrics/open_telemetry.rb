# frozen_string_literal: true

module Tiercel
  module Metrics
    # Counters of the meter `tiercel`.
    #
    # The Ruby SDK adds up the values that callbacks of observable counters return, so from the second collection on
    # it counts everything twice. Therefore these are plain counters. An observable gauge, declared first and without
    # values, updates them whenever a reader collects.
    #
    # @private
    module OpenTelemetry
      # {Definition#unit} in UCUM's notation.
      UNITS = { seconds: "s" }.freeze
      private_constant :UNITS

      class << self
        # @param account [Account]
        # @return [Boolean] true
        def install(account)
          increments = Increments.new(account)
          counters = {}
          meter = ::OpenTelemetry.meter_provider.meter("tiercel", version: VERSION)
          meter.create_observable_gauge("tiercel.exports", unit: "1", description: "Updates the counters",
                                                           callback: -> { count(increments, counters) })
          DECLARED.each do |one|
            counters[one.name] = meter.create_counter(name_of(one), unit: UNITS.fetch(one.unit, "1"),
                                                                    description: one.text)
          end
          true
        end

        private

        def name_of(definition)
          name = definition.name.to_s.sub(/\Atier_/, "tier.")
          "tiercel.#{name}#{".duration" if definition.unit == :seconds}"
        end

        # @return [nil] no value for the gauge
        def count(increments, counters)
          increments.each do |definition, tags, increment|
            counters.fetch(definition.name).add(increment, attributes: tags.transform_keys { |tag| "tiercel.#{tag}" })
          end
          nil
        end
      end
    end
  end
end
