# frozen_string_literal: true

module Tiercel::Lab
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

    # A drawing: shapes in their order, written as SVG.
    #
    # Class names give the colours, from the page's style sheet. One drawing therefore works in light, in dark and on
    # paper.
    class Svg
      # Mean width of a character, as a share of the font size; an upper estimate for common fonts.
      CHARACTER_WIDTH = 0.6

      # @param text [String]
      # @param size [Numeric] font size in px
      # @return [Float] estimated width in px
      def self.text_width(text, size = 12) = text.to_s.length * size * CHARACTER_WIDTH

      # @param text [String]
      # @param room [Numeric] px
      # @return [String] with an ellipsis if it does not fit
      def self.fit(text, room, size = 12)
        return text if text_width(text, size) <= room
        keep = (room / (size * CHARACTER_WIDTH)).floor - 1
        keep < 1 ? "" : "#{text[0, keep].rstrip}\u2026"
      end

      # @return [String] the shapes, without the <svg> element around them
      attr_reader :body
      # @return [Numeric] px
      attr_reader :width
      # @return [Numeric] px
      attr_reader :height

      # @param width [Numeric] px
      # @param height [Numeric] px
      def initialize(width, height)
        @width = width
        @height = height
        @body = +""
      end

      # @return [self]
      def line(x1, y1, x2, y2, **attributes) = tag("line", { x1:, y1:, x2:, y2:, **attributes })

      # @return [self]
      def rect(x, y, width, height, **attributes)
        tag("rect", { x:, y:, width: [width, 0].max, height: [height, 0].max, **attributes })
      end

      # @return [self]
      def circle(cx, cy, r, **attributes) = tag("circle", { cx:, cy:, r:, **attributes })

      # @param points [Array<Array(Numeric, Numeric)>]
      # @return [self]
      def polyline(points, **attributes)
        tag("polyline", { points: points.map { |x, y| "#{short(x)},#{short(y)}" }.join(" "), **attributes })
      end

      # @param points [Array<Array(Numeric, Numeric)>]
      # @return [self]
      def polygon(points, **attributes)
        tag("polygon", { points: points.map { |x, y| "#{short(x)},#{short(y)}" }.join(" "), **attributes })
      end

      # @param anchor [Symbol] :start, :middle or :end
      # @return [self]
      def text(x, y, string, anchor: :start, **attributes)
        attributes[:"text-anchor"] = anchor unless anchor == :start
        tag("text", { x:, y:, **attributes }, Report.escape(string))
      end

      # Marks a point of a series. Series have different shapes, so that colour is never the only difference.
      #
      # @param shape [Integer] number of the series
      # @return [self]
      def marker(x, y, shape, **attributes)
        r = 3.6
        case shape % 4
        when 0 then circle(x, y, r, **attributes)
        when 1 then rect(x - r, y - r, 2 * r, 2 * r, **attributes)
        when 2 then polygon([[x, y - r - 1], [x + r + 0.6, y + r], [x - r - 0.6, y + r]], **attributes)
        else polygon([[x, y - r - 1.2], [x + r + 1.2, y], [x, y + r + 1.2], [x - r - 1.2, y]], **attributes)
        end
      end

      # A line between two bounds with a cap at each end.
      #
      # @return [self]
      def whisker(x1, x2, y, **attributes)
        line(x1, y, x2, y, **attributes)
        line(x1, y - 4, x1, y + 4, **attributes)
        line(x2, y - 4, x2, y + 4, **attributes)
      end

      # @yield draws the shapes of the group
      # @return [self]
      def group(**attributes)
        @body << "<g#{attribute_text(attributes)}>"
        yield
        @body << "</g>"
        self
      end

      # @param id [String] unique in the page
      # @param title [String] title of the drawing
      # @param description [String] the drawing in words, for screen readers
      # @param css [String] class names
      # @return [String]
      def to_s(id:, title:, description:, css: nil)
        classes = ["chart", css].compact.join(" ")
        %(<svg class="#{classes}" viewBox="0 0 #{short(width)} #{short(height)}" role="img" ) +
          %(aria-labelledby="#{id}-t #{id}-d"><title id="#{id}-t">#{Report.escape(title)}</title>) +
          %(<desc id="#{id}-d">#{Report.escape(description)}</desc>#{@body}</svg>)
      end

      private

      def tag(name, attributes, content = nil)
        @body << "<#{name}#{attribute_text(attributes)}"
        @body << (content ? ">#{content}</#{name}>" : "/>")
        self
      end

      def attribute_text(attributes)
        attributes.filter_map do |name, value|
          next if value.nil?
          written = value.is_a?(Numeric) ? short(value) : Report.escape(value)
          %( #{name == :tip ? "data-tip" : name}="#{written}")
        end.join
      end

      def short(number)
        rounded = number.to_f.round(1)
        rounded == rounded.to_i ? rounded.to_i.to_s : rounded.to_s
      end
    end
  end
end
