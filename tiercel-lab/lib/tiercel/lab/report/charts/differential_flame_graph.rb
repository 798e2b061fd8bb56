# frozen_string_literal: true

require_relative "flame_graph"

module Tiercel
  module Lab
    module Report
      module Charts
        # A flame graph of the second of two profiles. A frame's colour shows how its share of the time has changed. The
        # table contains functions that are no longer called.
        class DifferentialFlameGraph < FlameGraph
          # Change of the share, in percentage points, with the full colour.
          FULL = 10.0

          # @param before [Hash{String => Numeric}, String] see {Stacks.parse}
          # @param after [Hash{String => Numeric}, String]
          # @param names [Array(String, String)] names of the two profiles
          # @param options [Hash] see {Chart#initialize}
          def initialize(title, before, after, names: %w[before after], **options)
            super(title, after, **options)
            @before = Stacks.parse(before)
            @names = names
            @before_by_path = weights(@before)
          end

          def svg(width = nil, id: anchor, css: nil) = super(width, id:, css: ["differential", css].compact.join(" "))

          def legend = [["more of the time than in #{@names[0]}", "more"], ["less", "less"], ["unchanged", "unchanged"]]

          def table(count: 20)
            table = twin(["function", "#{@names[0]}, self %", "#{@names[1]}, self %", "change, points"])
            changes.max_by(count) { |_, before, after| (after - before).abs }.each do |name, before, after|
              table.row(name, *[before, after, after - before].map { |share| Cell.number(share, digits: 1) })
            end
            table
          end

          private

          def changes
            before, after = @before.own_by_name, @stacks.own_by_name
            (before.keys | after.keys).map do |name|
              [name, share(before.fetch(name, 0), @before), share(after.fetch(name, 0), @stacks)]
            end
          end

          def share(samples, stacks) = stacks.total.zero? ? 0.0 : samples * 100.0 / stacks.total

          def summary
            return "No samples." if @stacks.total.zero? || @before.total.zero?
            name, before, after = changes.max_by { |_, first, second| (second - first).abs }
            "Shares of the time in #{@names[1]} against #{@names[0]}; the largest change: #{name}, " \
              "#{Format.number(before, digits: 1)} % to #{Format.number(after, digits: 1)} %."
          end

          def weights(stacks)
            found = {}
            walk = lambda do |frame, path|
              found[path] = frame.weight
              frame.children.each { |name, child| walk.call(child, path + [name]) }
            end
            walk.call(stacks.root, [])
            found
          end

          def place(frame, depth, left, rows, parts, path = [])
            return unless visible?(frame)
            @path = path
            parts << box(frame, left, (rows - 1 - depth) * ROW)
            frame.children.sort.each do |name, child|
              place(child, depth + 1, left, rows, parts, path + [name])
              left += percent(child.weight)
            end
          end

          def change(frame) = percent(frame.weight) - share(@before_by_path.fetch(@path, 0), @before)

          def paint(frame)
            points = change(frame)
            return 'class="unchanged"' if points.abs < 0.05
            strength = 0.12 + (0.88 * Math.sqrt([points.abs / FULL, 1.0].min))
            %(class="#{points.positive? ? "more" : "less"}" fill-opacity="#{strength.round(2)}")
          end

          def tip(frame)
            points = change(frame)
            sign = points.positive? ? "+" : ""
            "#{super}; #{sign}#{Format.number(points, digits: 1)} points against #{@names[0]}"
          end
        end
      end
    end
  end
end
