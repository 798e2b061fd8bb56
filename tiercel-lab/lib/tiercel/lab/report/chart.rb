# frozen_string_literal: true

module Tiercel
  module Lab
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
  end
end
