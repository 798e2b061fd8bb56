# frozen_string_literal: true

module Tiercel
  module Lab
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
      end
    end
  end
end
