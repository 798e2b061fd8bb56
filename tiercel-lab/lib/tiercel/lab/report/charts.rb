# frozen_string_literal: true

module Tiercel::Lab
  module Report
    # A drawing with a table as its text form. It can be drawn at any width ({#svg}), and {#table} contains the same
    # figures.
    #
    # @abstract Subclasses implement {#draw}, {#table} and {#summary}.
    class Chart
      # Width in px for desktops and paper. Pages contain a second drawing for phones.
      WIDE = 860
      NARROW = 360
      # Below this width labels stand above their rows.
      STACKED_BELOW = 560

      # @return [String]
      attr_reader :title
      # @return [String]
      attr_reader :anchor
      # @return [String, nil] a sentence under the chart
      attr_reader :note
      # @return [String, nil] the command that makes it again
      attr_reader :command

      # @param title [String]
      # @param description [String, nil] a sentence about the chart; nil: computed from the figures
      # @param anchor [String, nil] nil: computed from the title
      # @param note [String, nil]
      # @param command [String, nil]
      def initialize(title, description: nil, anchor: nil, note: nil, command: nil)
        @title = title
        @description = description
        @anchor = anchor || Report.slug(title)
        @note = note
        @command = command
      end

      # @return [String] the chart in words, for screen readers
      def description = @description || summary

      # @param width [Numeric] px
      # @param id [String] unique in the page
      # @param css [String, nil] class names
      # @return [String] an <svg> element
      def svg(width = WIDE, id: anchor, css: nil)
        draw(width).to_s(id:, title:, description:, css:)
      end

      # @return [Array<Array(String, String)>] labels of the legend, with their class names
      def legend = []

      # @return [Boolean] whether one drawing fits every width
      def fluid? = false

      # @return [Table] the same figures
      def table = raise(NotImplementedError)

      private

      # @return [Svg]
      def draw(width) = raise(NotImplementedError)

      # @return [String]
      def summary = raise(NotImplementedError)

      def stacked?(width) = width < STACKED_BELOW

      # Room for labels at the left: their width, at most 38 % of the chart's.
      def label_room(width, labels)
        return 8 if stacked?(width)
        [labels.map { |label| Svg.text_width(label, 13) }.max.to_f + 14, width * 0.38].min.ceil
      end

      # Draws a label left of its row, or above it if there is no room.
      def row_label(svg, width, room, y, label, above: 12)
        css = "label"
        if stacked?(width)
          svg.text(0, y - above, Svg.fit(label, width, 13), class: css)
        else
          svg.text(room - 12, y + 4, Svg.fit(label, room - 12, 13), anchor: :end, class: css)
        end
      end

      # Draws ticks with lines across the plot, and below it the figures and the axis' name.
      def horizontal_axis(svg, scale, top:, bottom:, label:, count: 6, ticks: nil, format: Format.method(:tick))
        left, right = scale.domain.map { |bound| scale.call(bound) }
        (ticks || scale.ticks(count)).each do |tick|
          x = scale.call(tick)
          svg.line(x, top, x, bottom, class: "grid")
          svg.text(x, bottom + 16, format.call(tick), anchor: :middle, class: "tick")
        end
        svg.line(left, bottom, right, bottom, class: "axis")
        svg.text((left + right) / 2, bottom + 34, label, anchor: :middle, class: "axis-label") if label
      end

      def vertical_axis(svg, scale, left:, right:, label:, count: 6)
        scale.ticks(count).each do |tick|
          y = scale.call(tick)
          svg.line(left, y, right, y, class: "grid")
          svg.text(left - 8, y + 4, Format.tick(tick), anchor: :end, class: "tick")
        end
        svg.text(0, 12, label, class: "axis-label") if label
      end

      # Writes the reason why a row has no drawing.
      def absence(svg, width, room, y, reason)
        svg.text(room + 4, y + 4, Svg.fit(reason, width - room - 8), class: "missing")
      end

      # The lower bound, the estimate and the upper bound in px.
      def places(scale, interval) = [interval.low, interval.estimate, interval.high].map { |value| scale.call(value) }

      # An empty table for the chart's figures.
      def twin(header, **options) = Table.new(title, header:, anchor: "#{anchor}-table", command:, **options)

      def tick_count(width) = stacked?(width) ? 4 : 7
    end
  end

  module Report
    module Charts
      # One bar for each row, with its interval as a whisker. A log scale has no zero to begin a bar at, so it has
      # dots.
      #
      #   chart = BarChart.new("A hit", unit: "us", scale: :log)
      #   chart.row("shared:", interval)
      #   chart.missing("memcached", "not installed: apt-get install memcached")
      class BarChart < Chart
        Row = Struct.new(:label, :interval, :muted, :reason)

        # @param unit [String]
        # @param scale [Symbol] :linear or :log
        # @param quantity [String] name of the axis ("time for one hit")
        # @param options [Hash] see {Chart#initialize}
        def initialize(title, unit:, scale: :linear, quantity: nil, **options)
          super(title, **options)
          @unit = unit
          @scale = scale
          @quantity = quantity
          @rows = []
        end

        # @param label [String]
        # @param interval [#estimate, #low, #high]
        # @param muted [Boolean] whether to draw it grey, as undecided
        # @return [self]
        def row(label, interval, muted: false)
          @rows << Row.new(label, interval, muted)
          self
        end

        # @param label [String]
        # @param reason [String] the reason why there is no bar
        # @return [self]
        def missing(label, reason)
          @rows << Row.new(label, nil, true, reason)
          self
        end

        def table
          table = twin(["", @unit])
          @rows.each do |row|
            cell = row.interval ? Cell.interval(row.interval, muted: row.muted) : Cell.missing(row.reason)
            table.row(row.label, cell)
          end
          table
        end

        private

        def present = @rows.select(&:interval)

        def summary
          return "No figures." if present.empty?
          least, most = present.map { |row| row.interval.estimate }.minmax
                               .map { |figure| Format.with_unit(figure, @unit) }
          "#{present.size} bars with intervals, from #{least} to #{most}."
        end

        def draw(width)
          room = label_room(width, @rows.map(&:label))
          pitch = stacked?(width) ? 42 : 30
          bottom = 6 + (@rows.size * pitch)
          svg = Svg.new(width, bottom + 42)
          scale = scale_for([room, width - value_room])
          horizontal_axis(svg, scale, top: 4, bottom:, label: axis_label, count: tick_count(width)) if scale
          @rows.each_with_index do |row, index|
            y = 6 + ((index + 0.5) * pitch) + (stacked?(width) ? 8 : 0)
            row_label(svg, width, room, y, row.label)
            row.interval ? bar(svg, scale, y, row) : absence(svg, width, room, y, row.reason)
          end
          svg
        end

        def log? = @scale == :log

        def axis_label = [@quantity, @unit].compact.join(", ")

        def value_room
          12 + (present.map { |row| Svg.text_width(Format.number(row.interval.estimate), 12) }.max || 0)
        end

        def scale_for(range)
          return if present.empty?
          low = present.map { |row| row.interval.low }.min
          high = present.map { |row| row.interval.high }.max
          log? ? Scale.build(:log, low * 0.8, high * 1.15, range) : Scale.build(:linear, [low, 0].min, high, range)
        end

        def bar(svg, scale, y, row)
          tip = "#{row.label}: #{Cell.interval(row.interval, unit: @unit)}"
          low, x, high = places(scale, row.interval)
          svg.group(class: row.muted ? "mark muted" : "mark s0", tip:) do
            zero = scale.call(log? ? scale.domain.first : 0)
            log? ? svg.line(zero, y, x, y, class: "stem") : svg.rect(zero, y - 8, x - zero, 16, class: "bar")
            svg.circle(x, y, 4.5, class: "dot") if log?
            svg.whisker(low, high, y, class: "whisker")
          end
          svg.text([high, x].max + 8, y + 4, Format.number(row.interval.estimate), class: "value")
        end
      end

      # Ratios to a baseline with their intervals. The band around 1 is the margin of the verdicts: an interval wholly
      # outside of it is faster or slower.
      #
      #   plot = ForestPlot.new("Reads", baseline: "MemoryStore", margin: interval)
      #   plot.row("shared:", ratio, :faster)
      class ForestPlot < Chart
        Row = Struct.new(:label, :interval, :verdict)
        # Width of the figures at the right, in px.
        VALUE_ROOM = 140

        # @param baseline [String] the arm whose time is 1
        # @param margin [#low, #high] ratios around 1
        # @param quantity [String] the compared quantity
        # @param options [Hash] see {Chart#initialize}
        def initialize(title, baseline:, margin:, quantity: "time", **options)
          super(title, **options)
          @baseline = baseline
          @margin = margin
          @quantity = quantity
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

        private

        def digits = @digits ||= @rows.map { |row| Format.decimals(row.interval.low) }.max.clamp(2, 3)

        def summary
          counts = @rows.map(&:verdict).tally.map { |verdict, count| "#{count} #{Cell::VERDICTS.fetch(verdict)}" }
          "Ratios of #{@quantity} to #{@baseline} with intervals: #{counts.join(", ")}. Below 1 is faster."
        end

        def draw(width)
          room = label_room(width, @rows.map(&:label))
          pitch = stacked?(width) ? 42 : 28
          bottom = 24 + (@rows.size * pitch)
          svg = Svg.new(width, bottom + 42)
          right = width - (stacked?(width) ? 12 : VALUE_ROOM + 16)
          scale = scale_for([room + 4, right])
          margin_band(svg, scale, bottom)
          horizontal_axis(svg, scale, top: 20, bottom:, label: "#{@quantity} / #{@quantity} of #{@baseline}",
                                      count: tick_count(width), format: ->(tick) { "#{Format.tick(tick)}x" })
          directions(svg, scale, bottom, width)
          @rows.each_with_index do |row, index|
            draw_row(svg, scale, width, room, 24 + ((index + 0.5) * pitch), row)
          end
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

        def directions(svg, scale, bottom, width)
          one = scale.call(1.0)
          svg.line(one, 20, one, bottom, class: "one")
          svg.text(one - 8, 12, "\u2190 faster", anchor: :end, class: "tick") if one > 60
          svg.text(one + 8, 12, "slower \u2192", class: "tick") if width - one > 70
        end

        def draw_row(svg, scale, width, room, y, row)
          y += 8 if stacked?(width)
          row_label(svg, stacked?(width) ? width - VALUE_ROOM : width, room, y, row.label)
          low, x, high = places(scale, row.interval)
          text = Cell.interval(row.interval, digits:).to_s
          tip = "#{row.label}: #{text}, #{Cell::VERDICTS.fetch(row.verdict)}"
          svg.group(class: "mark verdict-#{row.verdict}", tip:) do
            svg.whisker(low, high, y, class: "whisker")
            svg.rect(x - 4, y - 4, 8, 8, class: "dot")
          end
          svg.text(width, y + (stacked?(width) ? -12 : 4), text, anchor: :end, class: "value")
        end
      end

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
