# frozen_string_literal: true

require_relative "line_chart"

module Tiercel
  module Lab
    module Report
      module Charts
        # Latency by percentile. The horizontal axis is 1 / (1 - p) on a log scale, so that every further nine has the
        # same width, as in HdrHistogram's plots.
        #
        #   chart = PercentileSpectrum.new("Latency at 2,000 requests/s", unit: "us")
        #   chart.series("from intended start", [[50, 110], [99, 870], [99.9, 93_000]])
        class PercentileSpectrum < LineChart
          # Percentiles whose ticks are drawn.
          TICKS = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999].freeze

          # @param unit [String] unit of the latencies
          # @param options [Hash] see {Chart#initialize}
          def initialize(title, unit:, y_scale: :log, **options)
            super(title, x: "percentile", y: unit, x_scale: :log, y_scale:, **options)
          end

          # @param name [String]
          # @param points [Array<Array>] [percentile below 100, latency]
          # @return [self]
          # @raise [ArgumentError] for a percentile outside of 0...100
          def series(name, points, muted: false)
            points.each do |percentile, _|
              next if percentile >= 0 && percentile < 100
              raise ArgumentError, "percentile #{percentile}: expected 0 up to, not including, 100"
            end
            super(name, points.map { |percentile, *rest| [odds(percentile), *rest] }, muted:)
          end

          private

          def odds(percentile) = (100.0 / (100.0 - percentile)).round(6)

          def percentile(odds) = (100.0 - (100.0 / odds)).round(6)

          def x_cell(odds) = Cell.text(percentile_text(percentile(odds)))

          def percentile_text(percentile) = percentile == percentile.to_i ? "p#{percentile.to_i}" : "p#{percentile}"

          def draw_axes(svg, x, y, left, right, bottom, width)
            vertical_axis(svg, y, left:, right:, label: @y)
            TICKS.each do |percentile|
              at = odds(percentile)
              next unless at.between?(x.domain[0] * 0.999, x.domain[1] * 1.001)
              place = x.call(at)
              svg.line(place, 26, place, bottom, class: "grid")
              text = stacked?(width) ? percentile.to_s : "#{percentile} %"
              svg.text(place, bottom + 16, text, anchor: :middle, class: "tick")
            end
            svg.line(left, bottom, right, bottom, class: "axis")
            svg.text((left + right) / 2, bottom + 34, @x, anchor: :middle, class: "axis-label")
          end
        end
      end
    end
  end
end
