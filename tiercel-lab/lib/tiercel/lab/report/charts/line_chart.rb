# frozen_string_literal: true

module Tiercel
  module Lab
    module Report
      module Charts
        # Series of points joined by lines, on linear or logarithmic axes. Intervals are bands, and crossings of two
        # series are marked lines.
        #
        #   chart = LineChart.new("Latency", x: "round trip, ms", y: "us", x_scale: :log, y_scale: :log)
        #   chart.series("redis", [[0.25, 410], [1, 1_160]])
        class LineChart < Chart
          # @!attribute points [Array<Array(Numeric, Numeric, Numeric, Numeric)>] x, y, and optionally the bounds of y
          Series = Struct.new(:name, :points, :muted)
          Mark = Struct.new(:x, :label)

          # @param x [String] name of the axis with its unit
          # @param y [String]
          # @param x_scale [Symbol] :linear or :log
          # @param y_scale [Symbol]
          # @param options [Hash] see {Chart#initialize}
          def initialize(title, x:, y:, x_scale: :linear, y_scale: :linear, **options)
            super(title, **options)
            @x = x
            @y = y
            @scales = { x: x_scale, y: y_scale }
            @series = []
            @marks = []
          end

          # @param name [String]
          # @param points [Array<Array>] [x, y] or [x, y, low, high]
          # @param muted [Boolean] whether to draw it grey and dashed, for computed or uncertain points
          # @return [self]
          def series(name, points, muted: false)
            @series << Series.new(name, points.sort_by(&:first), muted)
            self
          end

          # Marks a place on the horizontal axis.
          #
          # @param x [Numeric]
          # @param label [String]
          # @return [self]
          def mark(x, label)
            @marks << Mark.new(x, label)
            self
          end

          # Finds the crossings of two series by interpolation on the chart's axes.
          #
          # @param first [String] name
          # @param second [String] name
          # @return [Array<Float>] places on the horizontal axis
          def crossings(first, second)
            one, two = [first, second].map { |name| find(name).points }
            xs = one.map(&:first) & two.map(&:first)
            differences = xs.map { |x| [x, forward(:y, value_at(one, x)) - forward(:y, value_at(two, x))] }
            differences.each_cons(2).filter_map { |before, after| crossing(before, after) }
          end

          def legend = @series.each_with_index.map { |series, index| [series.name, css(series, index)] }

          def table
            table = twin([@x, *@series.map { |series| "#{series.name}, #{@y}" }])
            xs.each do |x|
              table.row(x_cell(x), *@series.map { |series| point_cell(series, x) })
            end
            table
          end

          private

          def find(name)
            @series.find { |series| series.name == name } or
              raise ArgumentError, "series #{name.inspect}: expected one of #{@series.map(&:name).join(", ")}"
          end

          def forward(axis, value) = @scales[axis] == :log ? Math.log(value) : value.to_f

          def backward(axis, value) = @scales[axis] == :log ? Math.exp(value) : value

          def value_at(points, x) = points.assoc(x)[1]

          def crossing(before, after)
            (x1, d1), (x2, d2) = before, after
            return x1 if d1.zero?
            return unless d1 * d2 < 0
            from, to = forward(:x, x1), forward(:x, x2)
            backward(:x, from + ((to - from) * d1 / (d1 - d2)))
          end

          def xs = @series.flat_map { |series| series.points.map(&:first) }.uniq.sort

          def x_cell(x) = Cell.number(x)

          def point_cell(series, x)
            point = series.points.assoc(x)
            return Cell.text("") unless point
            _, y, low, high = point
            return Cell.number(y, muted: series.muted) unless low && high
            Cell.new(:interval, y, low:, high:, muted: series.muted)
          end

          def css(series, index) = series.muted ? "series muted" : "series s#{index % 7}"

          def summary
            ranges = @series.map do |series|
              first, last = series.points.values_at(0, -1).map { |point| Format.number(point[1]) }
              "#{series.name} from #{first} to #{last}"
            end
            "#{@y} over #{@x}: #{ranges.join("; ")}."
          end

          def draw(width)
            height = stacked?(width) ? 300 : 380
            svg = Svg.new(width, height)
            left, bottom, right = 50, height - 44, width - names_room(width)
            x = scale(:x, [left, right])
            y = scale(:y, [bottom, 26])
            draw_axes(svg, x, y, left, right, bottom, width)
            @marks.each { |mark| draw_mark(svg, x.call(mark.x), bottom, right, mark) }
            @series.each_with_index { |series, index| draw_series(svg, x, y, series, index) }
            end_labels(svg, y, right, width) unless stacked?(width)
            svg
          end

          def names_room(width)
            return 18 if stacked?(width)
            [@series.map { |series| Svg.text_width(series.name, 12.5) }.max + 22, width * 0.3].min
          end

          def draw_axes(svg, x, y, left, right, bottom, width)
            horizontal_axis(svg, x, top: 26, bottom:, label: @x, count: tick_count(width), ticks: own_ticks(x))
            vertical_axis(svg, y, left:, right:, label: @y)
          end

          # The measured places as ticks, if they are few; nil: round numbers.
          def own_ticks(x)
            return if xs.size > 8
            xs.each_with_object([]) { |at, kept| kept << at if kept.empty? || x.call(at) - x.call(kept.last) >= 30 }
          end

          def scale(axis, range)
            points = @series.flat_map(&:points)
            low, high = (axis == :x ? points.map(&:first) : points.flat_map { |point| point.drop(1).compact }).minmax
            return linear_scale(axis, low, high, range) if @scales[axis] == :linear
            margin = axis == :x ? 1.0 : [(high.to_f / low)**0.05, 1.03].max
            Scale.build(:log, low / margin, high * margin, range)
          end

          # The axis begins near the lowest figure if zero is far away.
          def linear_scale(axis, low, high, range)
            return Scale::Linear.new(low, high, range, nice: false) if axis == :x
            Scale::Linear.new(low.positive? && low > high * 0.4 ? low : [low, 0].min, high, range)
          end

          def draw_mark(svg, x, bottom, right, mark)
            svg.line(x, 26, x, bottom, class: "crossover")
            near_end = x + Svg.text_width(mark.label, 11) + 8 > right
            svg.text(near_end ? x - 6 : x + 6, 36, mark.label, anchor: near_end ? :end : :start, class: "tick strong")
          end

          def draw_series(svg, x, y, series, index)
            svg.group(class: css(series, index)) do
              band(svg, x, y, series)
              svg.polyline(series.points.map { |point| [x.call(point[0]), y.call(point[1])] }, class: "line")
              series.points.each { |point| draw_point(svg, x, y, series, index, point) }
            end
          end

          def band(svg, x, y, series)
            return unless series.points.all? { |point| point[2] && point[3] }
            upper = series.points.map { |point| [x.call(point[0]), y.call(point[3])] }
            lower = series.points.map { |point| [x.call(point[0]), y.call(point[2])] }
            svg.polygon(upper + lower.reverse, class: "band")
          end

          def draw_point(svg, x, y, series, index, point)
            tip = "#{series.name}: #{x_cell(point[0])} #{@x}, #{point_cell(series, point[0])} #{@y}"
            svg.marker(x.call(point[0]), y.call(point[1]), index, class: "dot", tip:)
          end

          # Names at the ends of the lines, moved apart if they would overlap.
          def end_labels(svg, y, right, width)
            ends = @series.each_with_index.sort_by { |series, _| y.call(series.points.last[1]) }
            places = ends.map { |series, _| y.call(series.points.last[1]) }
            spread(places, 15, 26, svg.height - 44).zip(ends) do |place, (series, index)|
              name = Svg.fit(series.name, width - right - 12, 12.5)
              svg.text(right + 12, place + 4, name, class: "name #{css(series, index)}")
            end
          end

          def spread(places, gap, top, bottom)
            placed = places.each_with_object([]) { |place, done| done << [place, (done.last || (top - gap)) + gap].max }
            overrun = placed.last.to_f - bottom
            return placed unless overrun.positive?
            limit = bottom
            placed.reverse.map { |place| [place, limit].min.tap { |at| limit = at - gap } }.reverse
          end
        end
      end
    end
  end
end
