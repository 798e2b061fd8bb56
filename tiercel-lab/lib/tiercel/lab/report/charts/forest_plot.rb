# frozen_string_literal: true

module Tiercel
  module Lab
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
      end
    end
  end
end
