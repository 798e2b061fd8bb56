# frozen_string_literal: true

module Tiercel
  module Lab
    module Report
      module Charts
        # Two costs against each other (bytes and us). The points that no other point beats in both form the front, and
        # have labels.
        class ParetoChart < Chart
          Point = Struct.new(:label, :x, :y)

          # @param x [String] name of the horizontal axis with its unit
          # @param y [String]
          # @param x_scale [Symbol] :log or :linear
          # @param y_scale [Symbol]
          # @param less [#call] whether the first of two labels has a decidedly smaller y; nil: compare y itself
          # @param options [Hash] see {Chart#initialize}
          def initialize(title, x:, y:, x_scale: :log, y_scale: :log, less: nil, **options)
            super(title, **options)
            @less = less
            @x = x
            @y = y
            @scales = [x_scale, y_scale]
            @points = []
          end

          # @param label [String]
          # @param x [Numeric] smaller is better
          # @param y [Numeric] smaller is better
          # @return [self]
          def point(label, x, y)
            @points << Point.new(label, x, y)
            self
          end

          # @return [Array<Point>] the points that no other point beats, in the order of x
          def front
            @points.reject { |point| @points.any? { |other| other.x <= point.x && less?(other, point) } }
                   .sort_by { |point| [point.x, point.y] }
          end

          def legend = [["on the front: nothing is better in both", "mark s0"], ["beaten in both", "mark muted"]]

          def table
            table = twin(["", @x, @y, "front"])
            on_front = front
            @points.sort_by { |point| [point.x, point.y] }.each do |point|
              table.row(point.label, point.x, point.y, Cell.mark(on_front.include?(point) ? :yes : :no))
            end
            table
          end

          private

          def summary
            "#{@points.size} points of #{@x} against #{@y}; the front: #{front.map(&:label).join(", ")}."
          end

          def draw(width)
            height = stacked?(width) ? 320 : 420
            svg = Svg.new(width, height)
            left, bottom = 46, height - 44
            x = scale(0, :x, [left, width - 12])
            y = scale(1, :y, [bottom, 26])
            horizontal_axis(svg, x, top: 26, bottom:, label: @x, count: tick_count(width))
            vertical_axis(svg, y, left:, right: width - 12, label: @y)
            front_line(svg, x, y)
            draw_points(svg, x, y)
            draw_labels(svg, x, y, width, LabelPlaces.new(left, 22, width, bottom))
            svg
          end

          def scale(index, cost, range)
            low, high = @points.map(&cost).minmax
            return Scale.build(:linear, 0, high, range) if @scales[index] == :linear
            margin = (high.to_f / low)**0.08
            margin = 1.3 if margin < 1.05
            Scale.build(:log, low / margin, high * margin, range)
          end

          def less?(one, other) = @less ? @less.call(one.label, other.label) : one.y < other.y

          # Steps: between two points of the front, the worse value of both holds.
          def front_line(svg, x, y)
            least = Float::INFINITY
            falling = front.select { |point| point.y < least && (least = point.y) }
            corners = falling.each_cons(2).flat_map do |first, second|
              [[first.x, first.y], [second.x, first.y], [second.x, second.y]]
            end
            svg.polyline(corners.map { |a, b| [x.call(a), y.call(b)] }, class: "front") if corners.any?
          end

          def draw_points(svg, x, y)
            on_front = front
            @points.sort_by { |point| on_front.include?(point) ? 1 : 0 }.each do |point|
              css = on_front.include?(point) ? "s0" : "muted"
              tip = "#{point.label}: #{Format.number(point.x)} #{@x}, #{Format.number(point.y)} #{@y}"
              svg.circle(x.call(point.x), y.call(point.y), 5, class: "dot mark #{css}", tip:)
            end
          end

          # Labels the front first, then other points while there is room, but not on phones.
          def draw_labels(svg, x, y, width, places)
            on_front = front
            @points.each { |point| places.point(x.call(point.x), y.call(point.y)) }
            label = lambda do |point, css, important|
              place = places.find(x.call(point.x), y.call(point.y), Svg.text_width(point.label, 12), important:)
              svg.text(place[0], place[1] + 11, point.label, class: css) if place
            end
            on_front.each { |point| label.call(point, "label strong", true) }
            (@points - on_front).each { |point| label.call(point, "label faint", false) } unless stacked?(width)
          end
        end
      end
    end
  end
end
