# frozen_string_literal: true

module Tiercel
  module Lab
    module Report
      module Charts
        # The parts of a cost, one bar for each row: serialize, compress, client, wire, server.
        class StackedBar < Chart
          Row = Struct.new(:label, :parts, :reason) do
            def total = parts.values.sum
          end

          # @param unit [String]
          # @param parts [Array<String>] in the order of the bar
          # @param options [Hash] see {Chart#initialize}
          def initialize(title, unit:, parts:, **options)
            super(title, **options)
            @unit = unit
            @parts = parts
            @rows = []
          end

          # @param label [String]
          # @param parts [Hash{String => Numeric}] missing parts are 0
          # @return [self]
          # @raise [ArgumentError] if a part is unknown or negative
          def row(label, parts)
            unknown = parts.keys - @parts
            raise ArgumentError, "part #{unknown.first.inspect}: expected #{@parts.join(", ")}" if unknown.any?
            below = parts.find { |_, value| value.negative? }
            raise ArgumentError, "part #{below.first.inspect} of #{label}: expected >= 0, got #{below.last}" if below
            @rows << Row.new(label, @parts.to_h { |part| [part, parts.fetch(part, 0)] })
            self
          end

          # @param label [String]
          # @param reason [String]
          # @return [self]
          def missing(label, reason)
            @rows << Row.new(label, {}, reason)
            self
          end

          def legend = @parts.each_with_index.map { |part, index| [part, "mark s#{index % 7}"] }

          def table
            table = twin(["", *@parts.map { |part| "#{part}, #{@unit}" }, "total, #{@unit}"])
            @rows.each do |row|
              cells = row.reason ? [Cell.missing(row.reason), *Array.new(@parts.size)] : [*row.parts.values, row.total]
              table.row(row.label, *cells)
            end
            table
          end

          private

          def present = @rows.reject(&:reason)

          def summary
            return "No figures." if present.empty?
            texts = present.map do |row|
              part, value = row.parts.max_by(&:last)
              "#{row.label} #{Format.with_unit(row.total, @unit)}, most of it #{part} (#{share(value, row)} %)"
            end
            "#{texts.join("; ")}."
          end

          def share(value, row) = row.total.zero? ? 0 : (value * 100.0 / row.total).round

          def draw(width)
            room = label_room(width, @rows.map(&:label))
            pitch = stacked?(width) ? 54 : 36
            bottom = 6 + (@rows.size * pitch)
            svg = Svg.new(width, bottom + 42)
            scale = Scale.build(:linear, 0, present.map(&:total).max || 1, [room, width - value_room])
            horizontal_axis(svg, scale, top: 4, bottom:, label: @unit, count: tick_count(width))
            @rows.each_with_index do |row, index|
              y = 6 + ((index + 0.5) * pitch) + (stacked?(width) ? 8 : 0)
              row_label(svg, width, room, y, row.label, above: 18)
              row.reason ? absence(svg, width, room, y, row.reason) : bar(svg, scale, y, row)
            end
            svg
          end

          def value_room = 12 + (present.map { |row| Svg.text_width(Format.number(row.total), 12) }.max || 0)

          def bar(svg, scale, y, row)
            from = 0
            row.parts.each_with_index do |(part, value), index|
              next unless value.positive?
              left, right = scale.call(from), scale.call(from + value)
              tip = "#{row.label}, #{part}: #{Format.with_unit(value, @unit)} (#{share(value, row)} %)"
              svg.rect(left, y - 11, [right - left - 1, 0.5].max, 22, class: "part mark s#{index % 7}", tip:)
              from += value
            end
            svg.text(scale.call(from) + 8, y + 4, Format.number(row.total), class: "value")
          end
        end
      end
    end
  end
end
