# frozen_string_literal: true

module Tiercel::Lab
  module Report
    # A drawing with a table as its text form: {#table} contains the same figures.
    #
    # @abstract Subclasses implement {#draw}, {#table} and {#summary}.
    class Chart
      # Width in px; a page scales the drawing to its own width.
      WIDTH = 860

      # @return [String]
      attr_reader :title
      # @return [String]
      attr_reader :anchor
      # @return [String, nil] the command that makes it again
      attr_reader :command

      # @param title [String]
      # @param anchor [String, nil] nil: computed from the title
      # @param command [String, nil]
      def initialize(title, anchor: nil, command: nil)
        @title = title
        @anchor = anchor || Report.slug(title)
        @command = command
      end

      # @param id [String] unique in the page
      # @return [String] an <svg> element
      def svg(id: anchor) = draw.to_s(id:, title:, description:)

      # @return [Array<Array(String, String)>] labels of the legend, with their class names
      def legend = []

      # @return [Table] the same figures
      def table = raise(NotImplementedError)

      private

      # @return [Svg]
      def draw = raise(NotImplementedError)

      # @return [String]

      # Draws ticks with lines across the plot, and below it the figures and the axis' name.
      def horizontal_axis(svg, scale, top:, bottom:, label:, ticks: nil, format: Format.method(:tick))
        left, right = scale.domain.map { |bound| scale.call(bound) }
        (ticks || scale.ticks(7)).each do |tick|
          x = scale.call(tick)
          svg.line(x, top, x, bottom, class: "grid")
          svg.text(x, bottom + 16, format.call(tick), anchor: :middle, class: "tick")
        end
        svg.line(left, bottom, right, bottom, class: "axis")
        svg.text((left + right) / 2, bottom + 34, label, anchor: :middle, class: "axis-label") if label
      end

      def vertical_axis(svg, scale, left:, right:, label:)
        scale.ticks.each do |tick|
          y = scale.call(tick)
          svg.line(left, y, right, y, class: "grid")
          svg.text(left - 8, y + 4, Format.tick(tick), anchor: :end, class: "tick")
        end
        svg.text(0, 12, label, class: "axis-label") if label
      end

      # The lower bound, the estimate and the upper bound in px.
      def places(scale, interval) = [interval.low, interval.estimate, interval.high].map { |value| scale.call(value) }

      # An empty table for the chart's figures.
      def twin(header, **options) = Table.new(title, header:, anchor: "#{anchor}-table", command:, **options)
    end
  end

  module Report
    module Charts
      # Ratios to a baseline with their intervals. The band around 1 is the margin of the verdicts: an interval wholly
      # outside of it is faster or slower.
      #
      #   plot = ForestPlot.new("Reads", baseline: "MemoryStore", margin: interval)
      #   plot.row("shared:", ratio, :faster)
      class ForestPlot < Chart
        Row = Struct.new(:label, :interval, :verdict)
        # Width of the figures at the right, in px.
        VALUE_ROOM = 140
        # Height of a row, in px.
        PITCH = 28

        # @param baseline [String] the arm whose time is 1
        # @param margin [#low, #high] ratios around 1
        # @param options [Hash] see {Chart#initialize}
        def initialize(title, baseline:, margin:, **options)
          super(title, **options)
          @baseline = baseline
          @margin = margin
          @rows = []
        end

        # @param label [String]
        # @param interval [#estimate, #low, #high] an interval of ratios
        # @param verdict [Symbol] see {Statistics::Verdict::ALL}
        # @return [self]
        def row(label, interval, verdict)
          raise ArgumentError, "verdict #{verdict.inspect}" unless Cell::VERDICTS.key?(verdict)
          @rows << Row.new(label, interval, verdict)
          self
        end

        def legend
          words = @rows.map(&:verdict).uniq
          verdicts = Cell::VERDICTS.slice(*words).map { |word, text| [text, "verdict-#{word}"] }
          return verdicts if @margin.low == @margin.high
          verdicts << ["margin of the verdicts", "floor"]
        end

        def table
          table = twin(["", "ratio to #{@baseline}", "verdict"])
          @rows.each do |row|
            muted = row.verdict == :cannot_tell
            table.row(row.label, Cell.interval(row.interval, digits:, unit: "x", muted:), row.verdict)
          end
          table
        end

        # @return [String] the chart in words, for screen readers
        def description
          counts = @rows.map(&:verdict).tally.map { |verdict, count| "#{count} #{Cell::VERDICTS.fetch(verdict)}" }
          "Ratios of time to #{@baseline} with intervals: #{counts.join(", ")}. Below 1 is faster."
        end

        private

        def digits = @digits ||= @rows.map { |row| Format.decimals(row.interval.low) }.max.clamp(2, 3)

        def draw
          room = [@rows.map { |row| Svg.text_width(row.label, 13) }.max.to_f + 14, WIDTH * 0.38].min.ceil
          bottom = 24 + (@rows.size * PITCH)
          svg = Svg.new(WIDTH, bottom + 42)
          scale = scale_for([room + 4, WIDTH - VALUE_ROOM - 16])
          margin_band(svg, scale, bottom)
          horizontal_axis(svg, scale, top: 20, bottom:, label: "time / time of #{@baseline}",
                                      format: ->(tick) { "#{Format.tick(tick)}x" })
          directions(svg, scale, bottom)
          @rows.each_with_index { |row, index| draw_row(svg, scale, room, 24 + ((index + 0.5) * PITCH), row) }
          svg
        end

        def scale_for(range)
          low = [*@rows.map { |row| row.interval.low }, @margin.low].min
          high = [*@rows.map { |row| row.interval.high }, @margin.high].max
          margin = [(high / low)**0.06, 1.05].max
          Scale.build(:log, [low / margin, 0.95].min, [high * margin, 1.05].max, range)
        end

        def margin_band(svg, scale, bottom)
          left = scale.call(@margin.low)
          tip = "margin: #{Cell.interval(@margin, digits: 3)}"
          svg.rect(left, 20, scale.call(@margin.high) - left, bottom - 20, class: "floor", tip:)
        end

        def directions(svg, scale, bottom)
          one = scale.call(1.0)
          svg.line(one, 20, one, bottom, class: "one")
          svg.text(one - 8, 12, "\u2190 faster", anchor: :end, class: "tick") if one > 60
          svg.text(one + 8, 12, "slower \u2192", class: "tick") if WIDTH - one > 70
        end

        def draw_row(svg, scale, room, y, row)
          svg.text(room - 12, y + 4, Svg.fit(row.label, room - 12, 13), anchor: :end, class: "label")
          low, x, high = places(scale, row.interval)
          text = Cell.interval(row.interval, digits:).to_s
          tip = "#{row.label}: #{text}, #{Cell::VERDICTS.fetch(row.verdict)}"
          svg.group(class: "mark verdict-#{row.verdict}", tip:) do
            svg.whisker(low, high, y, class: "whisker")
            svg.rect(x - 4, y - 4, 8, 8, class: "dot")
          end
          svg.text(WIDTH, y + 4, text, anchor: :end, class: "value")
        end
      end

      # Series of points joined by lines, on linear or logarithmic axes. Intervals are bands.
      #
      #   chart = LineChart.new("Latency", x: "round trip, ms", y: "us", x_scale: :log, y_scale: :log)
      #   chart.series("redis", [[0.25, 410], [1, 1_160]])
      class LineChart < Chart
        # @!attribute points [Array<Array(Numeric, Numeric, Numeric, Numeric)>] x, y, and optionally the bounds of y
        Series = Struct.new(:name, :points)
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
        # @return [self]
        def series(name, points)
          @series << Series.new(name, points.sort_by(&:first))
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

        def legend = @series.each_with_index.map { |series, index| [series.name, css(index)] }

        def table
          table = twin([@x, *@series.map { |series| "#{series.name}, #{@y}" }])
          xs.each do |x|
            table.row(Cell.number(x), *@series.map { |series| point_cell(series, x) })
          end
          table
        end

        # @return [String] the chart in words, for screen readers
        def description
          ranges = @series.map do |series|
            first, last = series.points.values_at(0, -1).map { |point| Format.number(point[1]) }
            "#{series.name} from #{first} to #{last}"
          end
          "#{@y} over #{@x}: #{ranges.join("; ")}."
        end

        private

        def xs = @series.flat_map { |series| series.points.map(&:first) }.uniq.sort

        def point_cell(series, x)
          point = series.points.assoc(x)
          return Cell.text("") unless point
          _, y, low, high = point
          low && high ? Cell.new(:interval, y, low:, high:) : Cell.number(y)
        end

        def css(index) = "series s#{index % 7}"

        def draw
          svg = Svg.new(WIDTH, 380)
          left, bottom, right = 50, svg.height - 44, WIDTH - 18
          x = scale(:x, [left, right])
          y = scale(:y, [bottom, 26])
          horizontal_axis(svg, x, top: 26, bottom:, label: @x, ticks: own_ticks(x))
          vertical_axis(svg, y, left:, right:, label: @y)
          @marks.each { |mark| draw_mark(svg, x.call(mark.x), bottom, right, mark) }
          @series.each_with_index { |series, index| draw_series(svg, x, y, series, index) }
          svg
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
          svg.group(class: css(index)) do
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
          tip = "#{series.name}: #{Cell.number(point[0])} #{@x}, #{point_cell(series, point[0])} #{@y}"
          svg.marker(x.call(point[0]), y.call(point[1]), index, class: "dot", tip:)
        end
      end
    end
  end
end
