# frozen_string_literal: true

module Tiercel
  module Lab
    module Report
      # Maps figures to px, and chooses the ticks of an axis.
      module Scale
        # @param kind [Symbol] :linear or :log
        # @param low [Numeric] the least figure
        # @param high [Numeric] the greatest figure
        # @param range [Array(Numeric, Numeric)] px of the two ends
        # @return [Linear, Log]
        # @raise [ArgumentError] for another kind, and for figures <= 0 on a log scale
        def self.build(kind, low, high, range)
          case kind
          when :linear then Linear.new(low, high, range)
          when :log then Log.new(low, high, range)
          else raise ArgumentError, "scale #{kind.inspect}: expected :linear or :log"
          end
        end

        # Equal differences have equal distances.
        class Linear
          # @return [Array(Float, Float)] the figures at the two ends
          attr_reader :domain

          # @param nice [Boolean] whether to extend the ends to ticks
          def initialize(low, high, range, nice: true)
            high = low + 1.0 if high <= low
            step = Linear.step(high - low, 6)
            @domain = nice ? [(low / step).floor * step, (high / step).ceil * step] : [low.to_f, high.to_f]
            @range = range
          end

          # @return [Float] 1, 2 or 5 times a power of ten
          def self.step(span, count)
            raw = span.to_f / count
            power = 10.0**Math.log10(raw).floor
            [1, 2, 5, 10].find { |factor| factor * power >= raw * 0.9999 } * power
          end

          # @param value [Numeric]
          # @return [Float] px
          def call(value)
            low, high = domain
            @range[0] + ((value - low) / (high - low) * (@range[1] - @range[0]))
          end

          # @param count [Integer] approximate number
          # @return [Array<Float>]
          def ticks(count = 6)
            step = Linear.step(domain[1] - domain[0], count)
            first = (domain[0] / step).ceil
            (first..(domain[1] / step + 1e-9).floor).map { |number| (number * step).round(10) }
          end
        end

        # Equal ratios have equal distances.
        class Log
          # @return [Array(Float, Float)]
          attr_reader :domain

          def initialize(low, high, range)
            raise ArgumentError, "log scale: expected figures > 0, got #{low}" unless low.positive?
            high = low * 10.0 if high <= low
            @domain = [low.to_f, high.to_f]
            @range = range
          end

          # @param value [Numeric] > 0
          # @return [Float] px
          def call(value)
            low, high = domain.map { |bound| Math.log(bound) }
            @range[0] + ((Math.log(value) - low) / (high - low) * (@range[1] - @range[0]))
          end

          # @param count [Integer] approximate maximum
          # @return [Array<Float>] powers of ten, with 2 and 5 between them if there is room
          def ticks(count = 6)
            [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7], [1, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]]
              .map { |steps| candidates(steps) }
              .reverse.find { |ticks| ticks.size <= count && ticks.any? } || thinned(candidates([1]), count)
          end

          private

          def candidates(steps)
            powers = (Math.log10(domain[0]).floor..Math.log10(domain[1]).ceil)
            ticks = powers.flat_map { |power| steps.map { |step| (step * (10.0**power)).round(12) } }
            ticks.select { |tick| tick.between?(domain[0] * 0.9999, domain[1] * 1.0001) }
          end

          def thinned(ticks, count)
            every = [(ticks.size.to_f / count).ceil, 1].max
            ticks.select.with_index { |_, index| (index % every).zero? }
          end
        end
      end
    end
  end
end
